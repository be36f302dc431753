import type { PlatformKind } from '#contracts';
import { type AppError, appError } from '#errors';

/**
 * The platform does not confirm the claim.
 *
 * @param reason public; it holds no token, and nothing that the platform said
 * @param platform the key in `authData`, where it is not the kind's name
 */
export function refusal(kind: PlatformKind, reason: string, platform: string = kind): AppError {
  const name = kind === 'weixin' ? 'INVALID_WEIXIN_IDENTITY' : 'INVALID_IDENTITY';
  return appError(name, { message: `Invalid authData of ${platform}: ${reason}.` });
}

/**
 * Nothing is known about the claim: the platform cannot be reached, is busy, or refuses our credentials.
 *
 * @param reason for the log; it holds no token, no secret and no address with a query
 */
export function unavailable(kind: PlatformKind, reason: string): AppError {
  return appError('SERVICE_UNAVAILABLE', {
    message: `The platform ${kind} does not answer as it should. Please try again.`,
    cause: new Error(`${kind}: ${reason}`),
  });
}

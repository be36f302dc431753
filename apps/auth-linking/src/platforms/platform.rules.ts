import type { JsonObject, PlatformCredentials, PlatformKind } from '#contracts';
import { type AppError, appError } from '#errors';

const MAX_TOKEN_LENGTH = 2_048;
/** Only visible ASCII reaches a URL, a header or a form. */
const TOKEN = /^[\x21-\x7e]+$/;

export interface Claim {
  readonly platform: string;
  /** The id in the entry, if any: mini programs send only a code. */
  readonly uid: string | undefined;
  readonly entry: JsonObject;
}

export interface Proof {
  readonly uid: string;
  readonly unionId?: string;
  /** Fields that the platform adds to the entry, such as the `openid` of a mini program. */
  readonly additions?: JsonObject;
}

export interface PlatformVerifier<Kind extends PlatformKind = PlatformKind> {
  /** @throws AppError INVALID_IDENTITY (weixin: INVALID_WEIXIN_IDENTITY) if not confirmed for this user and app; SERVICE_UNAVAILABLE */
  verify(claim: Claim, credentials: PlatformCredentials<Kind>): Promise<Proof>;
}

/** @param reason public: no token or text of the platform. @param platform the key in `authData`, if it differs from the kind */
export function refusal(kind: PlatformKind, reason: string, platform: string = kind): AppError {
  const name = kind === 'weixin' ? 'INVALID_WEIXIN_IDENTITY' : 'INVALID_IDENTITY';
  return appError(name, { message: `Invalid authData of ${platform}: ${reason}.` });
}

/** It is unreachable or busy, or rejects our credentials. @param reason for the log: no token, secret or URL with a query */
export function unavailable(kind: PlatformKind, reason: string): AppError {
  return appError('SERVICE_UNAVAILABLE', {
    message: `The platform ${kind} is not available. Please try again.`,
    cause: new Error(`${kind}: ${reason}`),
  });
}

export function requireUid({ platform, uid }: Claim): string {
  if (uid === undefined || uid === '')
    throw appError('IDENTITY_MISSING', { message: `The account in authData.${platform} has no id.` });
  return uid;
}

/** @throws AppError refusal if it is missing, not a string, or malformed */
export function requireToken(kind: PlatformKind, claim: Claim, field: string, maxLength = MAX_TOKEN_LENGTH): string {
  const token = optionalToken(kind, claim, field, maxLength);
  if (token === undefined) throw refusal(kind, `${field} is missing`);
  return token;
}

/** As `requireToken`, but the field may be undefined, null, or empty. */
export function optionalToken(
  kind: PlatformKind,
  { entry }: Claim,
  field: string,
  maxLength = MAX_TOKEN_LENGTH,
): string | undefined {
  const token = Object.hasOwn(entry, field) ? entry[field] : undefined;
  if (token === undefined || token === null || token === '') return undefined;
  if (typeof token !== 'string') throw refusal(kind, `${field} must be a string`);
  if (token.length > maxLength || !TOKEN.test(token)) throw refusal(kind, `${field} is malformed`);
  return token;
}

/** @throws AppError refusal if the response names no user or another user */
export function proofOf(
  kind: PlatformKind,
  { uid }: Claim,
  response: { readonly id: string | undefined; readonly unionId?: string | undefined },
): Proof {
  const { id, unionId } = response;
  if (id === undefined) throw refusal(kind, 'the platform names no user');
  if (uid !== undefined && uid !== id) throw refusal(kind, 'it is for another user');
  return unionId === undefined ? { uid: id } : { uid: id, unionId };
}

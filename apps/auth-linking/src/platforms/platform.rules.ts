import type { JsonObject, PlatformCredentials, PlatformKind } from '#contracts';
import { type AppError, appError } from '#errors';

const MAX_TOKEN_LENGTH = 2_048;
/** Tokens are visible ASCII. Nothing else gets into an address, a header or a form. */
const TOKEN = /^[\x21-\x7e]+$/;

/** One entry of `authData`, before anybody has confirmed it. */
export interface Claim {
  /** The key in `authData`. */
  readonly platform: string;
  /** The id that the entry names, where it names one: mini programs send only a code. */
  readonly uid: string | undefined;
  readonly entry: JsonObject;
}

/** What a platform has confirmed. */
export interface Proof {
  readonly uid: string;
  readonly unionId?: string;
  /** What the platform adds to the entry: the `openid` of a mini program, for instance. */
  readonly additions?: JsonObject;
}

/** Has claims of one kind of platform confirmed by that platform. */
export interface PlatformVerifier<Kind extends PlatformKind = PlatformKind> {
  readonly kind: Kind;
  /**
   * @throws AppError INVALID_IDENTITY (INVALID_WEIXIN_IDENTITY for weixin) where the platform does not confirm the claim, or
   * confirms it for another user or another app; SERVICE_UNAVAILABLE where it does not answer in time
   */
  verify(claim: Claim, credentials: PlatformCredentials<Kind>): Promise<Proof>;
}

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

/** The id that the entry names. @throws AppError IDENTITY_MISSING */
export function requireUid({ platform, uid }: Claim): string {
  if (uid === undefined || uid === '')
    throw appError('IDENTITY_MISSING', { message: `The account in authData.${platform} has no id.` });
  return uid;
}

/** A token or code of the entry. @throws AppError refusal where it is missing, is no string, or is none that a platform makes */
export function requireToken(kind: PlatformKind, claim: Claim, field: string, maxLength = MAX_TOKEN_LENGTH): string {
  const token = optionalToken(kind, claim, field, maxLength);
  if (token === undefined) throw refusal(kind, `${field} is missing`);
  return token;
}

/** The same where it may be missing: undefined, null, or empty. */
export function optionalToken(
  kind: PlatformKind,
  { entry }: Claim,
  field: string,
  maxLength = MAX_TOKEN_LENGTH,
): string | undefined {
  const token = Object.hasOwn(entry, field) ? entry[field] : undefined;
  if (token === undefined || token === null || token === '') return undefined;
  if (typeof token !== 'string') throw refusal(kind, `${field} must be a string`);
  if (token.length > maxLength || !TOKEN.test(token)) throw refusal(kind, `${field} is none of the platform's`);
  return token;
}

/** What the platform says of whom it knows. @throws AppError refusal where it knows nobody, or somebody else */
export function proofOf(
  kind: PlatformKind,
  { uid }: Claim,
  answered: { readonly id: string | undefined; readonly unionId?: string | undefined },
): Proof {
  const { id, unionId } = answered;
  if (id === undefined) throw refusal(kind, 'the platform names no user');
  if (uid !== undefined && uid !== id) throw refusal(kind, 'it is for another user');
  return unionId === undefined ? { uid: id } : { uid: id, unionId };
}

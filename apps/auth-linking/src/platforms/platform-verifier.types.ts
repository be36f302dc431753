import type { JsonObject, PlatformCredentials, PlatformKind } from '#contracts';

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

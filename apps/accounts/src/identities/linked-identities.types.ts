import type { JsonObject, PlatformKind } from '#contracts';

/** An account on a platform that a user is linked to. */
export interface LinkedIdentity {
  readonly uid: string;
  /** Absent: a platform that we do not know. */
  readonly kind?: PlatformKind | undefined;
  /** The platform itself has confirmed it. */
  readonly isVerified: boolean;
  /** What `authData` shows. It holds the platform's tokens. */
  readonly entry: JsonObject;
  /** The entry of the union id that this account carries. That entry goes with the last account that carries it. */
  readonly unionIdEntry?: string | undefined;
}

/** What a user is linked to, by platform: the keys of `authData`. */
export type LinkedIdentities = ReadonlyMap<string, LinkedIdentity>;

import type { JsonObject } from '#contracts';
import type { Acl } from '#objects';
import type { LinkedIdentities } from '../identities/linked-identities.types.js';

/** A user as it is stored, without its application. */
export interface UserRow {
  readonly objectId: string;
  readonly username: string;
  readonly email: string | null;
  /** null: created while verification was off, or without an address (specification, emailVerified). */
  readonly emailVerified: boolean | null;
  /** How often the address was changed: mailed links are good for one state of it. */
  readonly emailVersion: number;
  readonly mobilePhoneNumber: string | null;
  readonly mobilePhoneVerified: boolean;
  readonly passwordHash: string | null;
  /** How often the password was changed. */
  readonly passwordVersion: number;
  readonly sessionTokenHash: Buffer;
  readonly sealedSessionToken: string;
  /** What `authData` shows. null: never linked to anything. */
  readonly identities: LinkedIdentities | null;
  readonly acl: Acl | null;
  /** The custom fields. */
  readonly fields: JsonObject;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

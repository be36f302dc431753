import type { JsonObject } from '#contracts';
import type { Acl } from '../acl/acl.rules.js';

/** A user as it is stored, without its application. */
export interface UserRow {
  readonly objectId: string;
  readonly username: string;
  readonly email: string | null;
  /** null: created while verification was off, or without an address (specification, emailVerified). */
  readonly emailVerified: boolean | null;
  readonly mobilePhoneNumber: string | null;
  readonly mobilePhoneVerified: boolean;
  readonly passwordHash: string | null;
  readonly sessionTokenHash: Buffer;
  readonly sealedSessionToken: string;
  readonly acl: Acl | null;
  /** The custom fields. */
  readonly fields: JsonObject;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

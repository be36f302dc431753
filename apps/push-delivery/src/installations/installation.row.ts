import type { JsonObject } from '#contracts';
import type { Acl } from '#objects';

/** An installation as it is stored, without its application. */
export interface InstallationRow {
  readonly objectId: string;
  /** The id that the device has chosen; null for a device known only by its `deviceToken`. */
  readonly installationId: string | null;
  readonly deviceType: string | null;
  readonly deviceToken: string | null;
  /** Pushes skip installations that are not valid. */
  readonly valid: boolean;
  readonly acl: Acl | null;
  /** `channels` and the custom fields. */
  readonly fields: JsonObject;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The values that identify a device. An absent value is not compared. */
export interface InstallationIdentity {
  readonly objectId?: string | undefined;
  readonly installationId?: string | null | undefined;
  /** Unique together. */
  readonly deviceType?: string | null | undefined;
  readonly deviceToken?: string | null | undefined;
}

import type { JsonObject } from '#contracts';
import type { Acl } from '#objects';

/** An installation as it is stored, without its application. */
export interface InstallationRow {
  readonly objectId: string;
  /** The name that the device gives itself; null where only `deviceToken` leads to it. */
  readonly installationId: string | null;
  readonly deviceType: string | null;
  readonly deviceToken: string | null;
  /** Pushes leave out what is not valid. */
  readonly valid: boolean;
  readonly acl: Acl | null;
  /** `channels` and the custom fields. */
  readonly fields: JsonObject;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** By what a device is known again. What is absent is not asked about. */
export interface InstallationIdentity {
  readonly objectId?: string | undefined;
  readonly installationId?: string | null | undefined;
  /** Unique together. */
  readonly deviceType?: string | null | undefined;
  readonly deviceToken?: string | null | undefined;
}

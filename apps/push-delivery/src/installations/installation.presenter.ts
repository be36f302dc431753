import type { JsonObject } from '#contracts';
import type { InstallationRow } from './installation.row.js';

/** The public JSON of an installation. An allow-list, but for the custom fields. */
export function presentInstallation(
  { fields, ...row }: InstallationRow,
  { showsAcl }: { readonly showsAcl: boolean },
): JsonObject {
  return {
    ...fields,
    objectId: row.objectId,
    ...(row.installationId === null ? {} : { installationId: row.installationId }),
    ...(row.deviceType === null ? {} : { deviceType: row.deviceType }),
    ...(row.deviceToken === null ? {} : { deviceToken: row.deviceToken }),
    valid: row.valid,
    ...(showsAcl && row.acl !== null ? { ACL: row.acl } : {}),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

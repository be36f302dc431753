import { appError } from '#errors';
import { applyChanges as applyFieldChanges } from '#objects';
import type { InstallationChanges } from './installation-changes.rules.js';
import type { InstallationIdentity, InstallationRow } from './installation.row.js';

/** An installation as it is before a registration says anything about it. */
export function newInstallation(objectId: string, now: Date): InstallationRow {
  return {
    objectId,
    installationId: null,
    deviceType: null,
    deviceToken: null,
    valid: true,
    acl: null,
    fields: {},
    createdAt: now,
    updatedAt: now,
  };
}

/** Whether a device is named by which it is known again. */
export function namesDevice({ installationId, deviceToken }: InstallationIdentity): boolean {
  return typeof installationId === 'string' || typeof deviceToken === 'string';
}

/**
 * Which of the installations a registration means: the one with its `installationId`; else the one that it names, unless
 * that has become another device's; else the one with its device token.
 */
export function registeredAmong(
  found: readonly InstallationRow[],
  identity: InstallationIdentity,
): InstallationRow | undefined {
  return (
    found.find(({ installationId }) => installationId !== null && installationId === identity.installationId) ??
    found.find((row) => row.objectId === identity.objectId && !isOtherDevice(row, identity)) ??
    found.find((row) => isSameToken(row, identity))
  );
}

/** The installations that are the given one under another id: a device is one installation. */
export function duplicatesAmong(found: readonly InstallationRow[], installation: InstallationRow): InstallationRow[] {
  return found.filter(({ objectId }) => objectId !== installation.objectId);
}

/**
 * The installation with the changes applied.
 * @throws AppError KEY_REQUIRED where nothing would lead to the device any more; INCORRECT_TYPE where an operation does not fit
 */
export function applyChanges(
  installation: InstallationRow,
  { fields, ...changes }: InstallationChanges,
): InstallationRow {
  const changed = { ...installation, ...changes, fields: applyFieldChanges(installation.fields, fields) };
  if (changed.installationId === null && changed.deviceToken === null) throw required('installationId');
  if (changed.deviceToken !== null && changed.deviceType === null) throw required('deviceType');
  return changed;
}

/** Object ids outlive devices: a backup that is restored on another one brings them along. */
function isOtherDevice(row: InstallationRow, { installationId }: InstallationIdentity): boolean {
  return row.installationId !== null && typeof installationId === 'string' && row.installationId !== installationId;
}

function isSameToken(row: InstallationRow, { deviceType, deviceToken }: InstallationIdentity): boolean {
  return row.deviceToken !== null && row.deviceToken === deviceToken && row.deviceType === deviceType;
}

function required(key: string) {
  return appError('KEY_REQUIRED', { message: `Key is required: ${key}.` });
}

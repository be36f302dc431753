import { appError } from '#errors';
import { applyChanges as applyFieldChanges, type InstallationChanges, type InstallationRow } from '#objects';

/** An absent value is not compared. */
export interface InstallationIdentity {
  readonly objectId?: string | undefined;
  readonly installationId?: string | null | undefined;
  readonly deviceType?: string | null | undefined;
  readonly deviceToken?: string | null | undefined;
  readonly vendor?: string | undefined;
  readonly registrationId?: string | undefined;
}

/** @throws AppError KEY_REQUIRED without an identifying id or token; INCORRECT_TYPE if an operation does not fit the stored value */
export function applyChanges(
  installation: InstallationRow,
  { custom, members: _, ...changes }: InstallationChanges,
): InstallationRow {
  const fields = applyFieldChanges(installation.fields, custom);
  const namesAddress = changes.deviceToken !== undefined || custom.some(({ path }) => ADDRESS_FIELDS.has(path[0]));
  const changed = { ...installation, ...validityAfter(installation, changes.valid, namesAddress), ...changes, fields };
  if (changed.installationId === null && changed.deviceToken === null) throw required('installationId');
  if (changed.deviceToken !== null && changed.deviceType === null) throw required('deviceType');
  return changed;
}

const ADDRESS_FIELDS: ReadonlySet<string> = new Set(['registrationId', 'vendor', 'webPush']);

/** "Invalid" concerns the token that was sent. Apps register it again after a reinstallation; SDKs back on the WebSocket write the vendor `lc` alone. */
function validityAfter(
  { invalidReason }: InstallationRow,
  valid: boolean | undefined,
  namesAddress: boolean,
): Pick<InstallationRow, 'invalidReason'> & { readonly valid?: boolean } {
  if (typeof invalidReason !== 'string') return {};
  if (valid !== undefined) return { invalidReason: null };
  return namesAddress ? { invalidReason: null, valid: true } : {};
}

export function namesDevice({ installationId, deviceToken }: InstallationIdentity): boolean {
  return typeof installationId === 'string' || typeof deviceToken === 'string';
}

/** By `installationId`; else by `objectId`, unless that installation belongs to another device by now; else by device token. */
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

export function identityOf(changes: InstallationChanges, objectId: string | undefined): InstallationIdentity {
  const set = changes.custom.findLast(({ path }) => path[0] === 'registrationId')?.operation;
  const registrationId = set?.kind === 'set' && typeof set.value === 'string' ? set.value : undefined;
  return { ...changes, objectId, registrationId };
}

const OWN_CHANNEL = 'lc';

/** With the token if the request names that: then the device is here now. Another change may concern an installation that it has left. */
export function savedIdentity(saved: InstallationRow, { custom }: InstallationChanges): InstallationIdentity {
  const { vendor, registrationId } = saved.fields;
  const isNamed = custom.some(({ path }) => path[0] === 'vendor' || path[0] === 'registrationId');
  if (!isNamed || typeof vendor !== 'string' || typeof registrationId !== 'string') return saved;
  const name = vendor.toLowerCase();
  return name === OWN_CHANNEL ? saved : { ...saved, vendor: name, registrationId };
}

export function duplicatesAmong(found: readonly InstallationRow[], installation: InstallationRow): InstallationRow[] {
  return found.filter(({ objectId }) => objectId !== installation.objectId);
}

/** An object id can move to another device: a restored backup contains it. */
function isOtherDevice(row: InstallationRow, { installationId }: InstallationIdentity): boolean {
  return row.installationId !== null && typeof installationId === 'string' && row.installationId !== installationId;
}

function isSameToken(row: InstallationRow, { deviceType, deviceToken }: InstallationIdentity): boolean {
  return row.deviceToken !== null && row.deviceToken === deviceToken && row.deviceType === deviceType;
}

function required(key: string) {
  return appError('KEY_REQUIRED', { message: `Key is required: ${key}.` });
}

import type { ClassName, CompletedField, ImportedIdentity, ImportedObject, JsonValue } from '#contracts';

/** Whether a claim is a session token: a user without one in the export keeps that it has here. */
export function isTokenClaim(key: string): boolean {
  return key.startsWith('sessionToken ');
}

const REQUIRED: Readonly<Partial<Record<ClassName, string>>> = { _User: 'username', _Role: 'name' };

const LINKED_PREFIX = 'authData.';

/** A value that one object of a class at most can have. */
export interface ImportClaim {
  readonly field: string;
  /** Field and value. Private data: it belongs into no log and no report. */
  readonly key: string;
}

/** The keys under which an object holds these claims. A linked account also occupies its platform. */
export function heldKeys(objectId: string, claims: readonly ImportClaim[]): string[] {
  return claims.flatMap(({ field, key }) => (isLinkedField(field) ? [key, platformKey(objectId, field)] : [key]));
}

export function keysOf(className: ClassName, object: ImportedObject): string[] {
  return heldKeys(object.objectId, claimsOf(className, object));
}

/** Names the account of a platform that the object has, whichever it is. No field of a claim has this name. */
export function platformKey(objectId: string, field: string): string {
  return `linked ${objectId} ${field}`;
}

export function claimsOf(
  className: ClassName,
  object: Pick<ImportedObject, 'columns' | 'sessionToken'> & {
    readonly identities?: readonly Pick<ImportedIdentity, 'platform' | 'uid'>[] | undefined;
  },
): ImportClaim[] {
  const { columns, sessionToken, identities = [] } = object;
  const claims = uniqueFields(className).flatMap((field) => claimOf(field, columns[field]));
  const type = columns['deviceType'];
  if (className === '_Installation' && typeof columns['deviceToken'] === 'string')
    claims.push(...claimOf('deviceToken', `${typeof type === 'string' ? type : ''} ${columns['deviceToken']}`));
  claims.push(...claimOf('sessionToken', sessionToken));
  return [...claims, ...identities.flatMap(({ platform, uid }) => claimOf(linkedField(platform), uid))];
}

export function linkedField(platform: string): string {
  return `${LINKED_PREFIX}${platform}`;
}

export function isLinkedField(field: string): boolean {
  return field.startsWith(LINKED_PREFIX);
}

export function requiredField(className: ClassName): string | undefined {
  return REQUIRED[className];
}

export function withoutClaim(object: ImportedObject, field: string): ImportedObject {
  if (field === 'sessionToken') {
    const { sessionToken: _, ...others } = object;
    return others;
  }
  const { identities, columns } = object;
  if (identities !== undefined && isLinkedField(field)) {
    const kept = identities.filter(({ platform }) => linkedField(platform) !== field);
    return { ...object, identities: kept };
  }
  const { [field]: _, ...others } = columns;
  if (field === 'email') return { ...object, columns: { ...others, emailVerified: null } };
  if (field === 'mobilePhoneNumber') return { ...object, columns: { ...others, mobilePhoneVerified: false } };
  return { ...object, columns: others };
}

export function emptyCopy({ objectId, createdAt, updatedAt }: ImportedObject): ImportedObject {
  return { objectId, createdAt, updatedAt, acl: null, columns: {}, fields: {} };
}

const COLUMNS: Readonly<Record<CompletedField, readonly string[]>> = {
  password: [],
  sessionToken: [],
  email: ['email', 'emailVerified'],
  mobilePhoneNumber: ['mobilePhoneNumber', 'mobilePhoneVerified'],
};

/** The object with these fields and all linked accounts of another copy of its version. */
export function withFields(
  object: ImportedObject,
  { password, sessionToken, columns, identities = [] }: ImportedObject,
  added: readonly CompletedField[],
): ImportedObject {
  const names = added.flatMap((field) => COLUMNS[field]);
  return {
    ...object,
    ...(added.includes('password') && password !== undefined ? { password } : {}),
    ...(added.includes('sessionToken') && sessionToken !== undefined ? { sessionToken } : {}),
    ...(identities.length === 0 ? {} : { identities: [...(object.identities ?? []), ...identities] }),
    columns: {
      ...object.columns,
      ...Object.fromEntries(Object.entries(columns).filter(([name]) => names.includes(name))),
    },
  };
}

/** Not a vendor's token of an installation: the earlier row would keep it, but the later one is the device. Its next registration decides. */
const UNIQUE_FIELDS: Readonly<Record<ClassName, readonly string[]>> = {
  _User: ['username', 'email', 'mobilePhoneNumber'],
  _Role: ['name'],
  _Installation: ['installationId'],
};

function uniqueFields(className: ClassName): readonly string[] {
  return UNIQUE_FIELDS[className];
}

function claimOf(field: string, value: JsonValue | undefined): ImportClaim[] {
  return typeof value === 'string' ? [{ field, key: `${field} ${value}` }] : [];
}

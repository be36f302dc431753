import type { ClassName, ImportedIdentity, ImportedObject, JsonValue } from '#contracts';

/** Whether a claim is a session token: a user without one in the export keeps that it has here. */
export function isTokenClaim(key: string): boolean {
  return key.startsWith('sessionToken ');
}

const REQUIRED: Readonly<Partial<Record<ClassName, string>>> = { _User: 'username', _Role: 'name' };

/** A value that one object of a class at most can have. */
export interface ImportClaim {
  readonly field: string;
  /** Field and value. Private data: it belongs into no log and no report. */
  readonly key: string;
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
  return [...claims, ...identities.flatMap(({ platform, uid }) => claimOf(`authData.${platform}`, uid))];
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
  if (identities !== undefined && field.startsWith('authData.')) {
    const kept = identities.filter(({ platform }) => `authData.${platform}` !== field);
    return { ...object, identities: kept };
  }
  const { [field]: _, ...others } = columns;
  if (field === 'email') return { ...object, columns: { ...others, emailVerified: null } };
  if (field === 'mobilePhoneNumber') return { ...object, columns: { ...others, mobilePhoneVerified: false } };
  return { ...object, columns: others };
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

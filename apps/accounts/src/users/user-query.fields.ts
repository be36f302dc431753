import type { QueryClass } from '#objects';

const COLUMNS: QueryClass['columns'] = new Map([
  ['objectId', { sql: 'object_id', type: 'text', isUnique: true }],
  ['username', { sql: 'username', type: 'text', isUnique: true }],
  ['email', { sql: 'email', type: 'text', isNullable: true, isUnique: true }],
  ['emailVerified', { sql: 'email_verified', type: 'boolean', isNullable: true }],
  ['mobilePhoneNumber', { sql: 'mobile_phone_number', type: 'text', isNullable: true, isUnique: true }],
  ['mobilePhoneVerified', { sql: 'mobile_phone_verified', type: 'boolean' }],
  ['createdAt', { sql: 'created_at', type: 'date' }],
  ['updatedAt', { sql: 'updated_at', type: 'date' }],
]);

const NEVER_QUERIED = ['password', 'salt', 'sessionToken', 'authData', 'ACL'];
const CONTACT = ['email', 'mobilePhoneNumber'];

/** What a query may name of users. What others may not see of a user, they may not ask about either: `hideContact`. */
export function userQueryClass({ hideContact }: { hideContact: boolean }): QueryClass {
  return {
    className: '_User',
    table: 'accounts.users',
    columns: COLUMNS,
    relations: new Map(),
    hidden: new Set([...NEVER_QUERIED, ...(hideContact ? CONTACT : [])]),
    appColumn: 'app_id',
    idColumn: 'object_id',
    jsonColumn: 'fields',
    aclColumn: 'acl',
    defaultOrderColumn: 'created_at',
  };
}

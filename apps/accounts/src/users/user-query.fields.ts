import type { QueryFields } from '#object-query';

/** What a query may name of a user. Everything else that is ours is hidden from `where` and `order`. */
export const USER_QUERY_FIELDS: QueryFields = {
  columns: new Map([
    ['objectId', { sql: 'object_id', type: 'text' }],
    ['username', { sql: 'username', type: 'text' }],
    ['email', { sql: 'email', type: 'text' }],
    ['emailVerified', { sql: 'email_verified', type: 'boolean' }],
    ['mobilePhoneNumber', { sql: 'mobile_phone_number', type: 'text' }],
    ['mobilePhoneVerified', { sql: 'mobile_phone_verified', type: 'boolean' }],
    ['createdAt', { sql: 'created_at', type: 'date' }],
    ['updatedAt', { sql: 'updated_at', type: 'date' }],
  ]),
  hidden: new Set(['password', 'salt', 'sessionToken', 'authData', 'ACL']),
  jsonColumn: 'fields',
  defaultOrderColumn: 'created_at',
  idColumn: 'object_id',
};

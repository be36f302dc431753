import type { QueryClass } from '#objects';

/** What a query may name of roles. */
export const ROLE_QUERY_CLASS: QueryClass = {
  className: '_Role',
  table: 'accounts.roles',
  columns: new Map([
    ['objectId', { sql: 'object_id', type: 'text' }],
    ['name', { sql: 'name', type: 'text' }],
    ['createdAt', { sql: 'created_at', type: 'date' }],
    ['updatedAt', { sql: 'updated_at', type: 'date' }],
  ]),
  relations: new Map([
    [
      'users',
      {
        className: '_User',
        table: 'accounts.role_users',
        appColumn: 'app_id',
        ownerColumn: 'role_id',
        memberColumn: 'user_id',
      },
    ],
    [
      'roles',
      {
        className: '_Role',
        table: 'accounts.role_children',
        appColumn: 'app_id',
        ownerColumn: 'role_id',
        memberColumn: 'child_id',
      },
    ],
  ]),
  hidden: new Set(['ACL']),
  appColumn: 'app_id',
  idColumn: 'object_id',
  jsonColumn: 'fields',
  aclColumn: 'acl',
  defaultOrderColumn: 'created_at',
};

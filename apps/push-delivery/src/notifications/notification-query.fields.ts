import type { QueryClass } from '#objects';

/** What a query may name of pushes. Of what is sent to devices: `msg` and what stands in it. */
export const NOTIFICATION_QUERY_CLASS: QueryClass = {
  className: '_Notification',
  table: 'push.notifications',
  columns: new Map([
    ['objectId', { sql: 'object_id', type: 'text' }],
    ['notificationId', { sql: 'notification_id', type: 'text', isNullable: true }],
    ['status', { sql: 'status', type: 'text' }],
    ['prod', { sql: 'prod', type: 'text' }],
    ['createdAt', { sql: 'created_at', type: 'date' }],
    ['updatedAt', { sql: 'updated_at', type: 'date' }],
  ]),
  relations: new Map(),
  hidden: new Set(['where']),
  appColumn: 'app_id',
  idColumn: 'object_id',
  jsonColumn: `jsonb_build_object('msg', data)`,
  // Only the master key asks, and that asks for no ACL.
  aclColumn: 'NULL::jsonb',
  defaultOrderColumn: 'created_at',
};

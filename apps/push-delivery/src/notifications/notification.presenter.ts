import type { DeliveryCounts, JsonObject } from '#contracts';
import type { QueryClass } from '#objects';
import type { NotificationRow } from '../dispatch/push.row.js';
import { shownWhere } from './push-target.rules.js';

/** The fields of pushes that a query may name. `msg` is the content sent to devices. */
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
  // Queries need the master key, to which ACLs do not apply.
  aclColumn: 'NULL::jsonb',
  defaultOrderColumn: 'created_at',
};

/**
 * The public JSON of a push. A device knows the ids of its pushes and can request them with the application key. Only the master key
 * sees `where`, because it may contain the ids of other installations.
 */
export function presentNotification(
  row: NotificationRow,
  platforms: Readonly<Record<string, DeliveryCounts>>,
  { isMaster }: { readonly isMaster: boolean },
): JsonObject {
  const sumOf = (count: (of: DeliveryCounts) => number) =>
    Object.values(platforms).reduce((sum, of) => sum + count(of), 0);
  return {
    objectId: row.objectId,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    ...(row.notificationId === null ? {} : { notificationId: row.notificationId }),
    status: row.status,
    msg: row.data,
    ...(isMaster ? { where: shownWhere(row.target) } : {}),
    prod: row.prod,
    'from-service': 'push',
    'push-time': row.dueAt.toISOString(),
    'expiration-time': row.expiresAt.toISOString(),
    devices: sumOf(({ targeted }) => targeted),
    successes: sumOf(({ delivered }) => delivered),
    invalidTokens: 0,
    errors: row.error,
    platforms: { ...platforms },
  };
}

/** The public JSON of a scheduled push. */
export function presentScheduled(row: NotificationRow): JsonObject {
  return {
    id: row.seq,
    createdAt: row.createdAt.toISOString(),
    push_time: row.dueAt.toISOString(),
    expire_time: row.expiresAt.getTime(),
    push_msg: {
      id: row.objectId,
      ...(row.notificationId === null ? {} : { notificationId: row.notificationId }),
      'app-id': row.appId,
      'api-version': '1.1',
      prod: row.prod,
      where: { query: shownWhere(row.target) },
      msg: row.data,
    },
  };
}

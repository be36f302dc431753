import type { JsonObject } from '#contracts';
import { type PlatformDeliveries, totalOf } from './delivery-counts.rules.js';
import type { NotificationRow } from './notification.row.js';
import { shownWhere } from './push-target.rules.js';

/**
 * A push as its application sees it. Devices know the id of a push that they got, and could ask for it with the application key: only the
 * master key sees whom it was for, since that may name the ids of other installations.
 */
export function presentNotification(
  row: NotificationRow,
  deliveries: PlatformDeliveries,
  { isMaster }: { readonly isMaster: boolean },
): JsonObject {
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
    devices: totalOf(deliveries, 'targeted'),
    successes: totalOf(deliveries, 'delivered'),
    invalidTokens: 0,
    errors: row.error,
    platforms: Object.fromEntries(Object.entries(deliveries).map(([platform, counts]) => [platform, { ...counts }])),
  };
}

/** A push that waits for its time, as the API lists it. */
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

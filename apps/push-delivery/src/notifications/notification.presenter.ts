import type { DeliveryCounts, JsonObject, VendorCounts } from '#contracts';
import type { QueryClass } from '#objects';
import type { ListedNotification, NotificationRow, PushTarget } from '../pushes/push.row.js';

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

/** Devices request their pushes by id. `where` may contain ids of other installations, so only the master key sees it. */
export function presentNotification(
  row: ListedNotification,
  platforms: Readonly<Record<string, DeliveryCounts>>,
  vendors: Readonly<Record<string, VendorCounts>>,
  { isMaster }: { readonly isMaster: boolean },
): JsonObject {
  const sumOf = (count: (of: DeliveryCounts) => number) =>
    Object.values(platforms).reduce((sum, of) => sum + count(of), 0);
  const delivered = sumOf(({ delivered: own }) => own);
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
    successes: delivered + totalOf(vendors, 'accepted'),
    invalidTokens: totalOf(vendors, 'invalid'),
    errors: row.error ?? reasonsText(vendors),
    platforms: { ...platforms } as JsonObject,
    ...presentVendors(vendors, delivered),
  };
}

/** By vendor, the prefix of LeanCloud's member for its successes. */
const SUCCESSES: ReadonlyMap<string, string> = new Map([
  ['apns', 'ios'],
  ['huawei', 'hms'],
  ['xiaomi', 'mi'],
  ['web-push', 'web'],
]);

function presentVendors(vendors: Readonly<Record<string, VendorCounts>>, delivered: number): JsonObject {
  const taking = Object.entries(vendors).filter(([, { targeted }]) => targeted > 0);
  if (taking.length === 0) return {};
  const successes = taking.map(([vendor, { accepted }]) => [`${SUCCESSES.get(vendor) ?? vendor}Successes`, accepted]);
  return {
    lcSuccesses: delivered,
    ...(Object.fromEntries(successes) as Record<string, number>),
    vendors: Object.fromEntries(taking.map(([vendor, counts]) => [vendor, { ...counts } as JsonObject])),
  };
}

function totalOf(vendors: Readonly<Record<string, VendorCounts>>, kind: 'accepted' | 'invalid'): number {
  return Object.values(vendors).reduce((sum, counts) => sum + counts[kind], 0);
}

/** Such as `apns: BadDeviceToken (3)`; null without failures. */
function reasonsText(vendors: Readonly<Record<string, VendorCounts>>): string | null {
  const texts = Object.entries(vendors).flatMap(([vendor, { reasons, paused }]) => {
    const all = paused === undefined ? reasons : { ...reasons, paused };
    const own = Object.entries(all).map(([reason, devices]) => `${reason} (${devices})`);
    return own.length === 0 ? [] : [`${vendor}: ${own.join(', ')}`];
  });
  return texts.length === 0 ? null : texts.join('; ');
}

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

function shownWhere({ where, platforms }: PushTarget): JsonObject {
  const all = [...where, ...(platforms === undefined ? [] : [{ deviceType: { $in: [...platforms] } }])];
  const [only = {}] = all;
  return all.length > 1 ? { $and: all } : only;
}

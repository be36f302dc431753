import { Injectable } from '@nestjs/common';
import { chunksOf } from '#bootstrap';
import type { Vendor, VendorCounts } from '#contracts';
import type { Queryable, Tx } from '#database';
import { PushDatabase } from '../push-delivery.database.js';
import { LEASE_SECONDS } from '../pushes/leases.js';
import type { VendorPush, VendorTarget } from './vendor-channel.rules.js';
import { badgesOf, countsOfShare, type VendorShare } from './vendor-route.rules.js';

/** A crash repeats at most the batches in progress. */
const BATCH_SIZE = 500;

export interface VendorBatch extends VendorPush {
  readonly id: string;
  readonly lane: string;
  readonly isBulk: boolean;
  readonly targets: readonly string[];
  readonly badges: readonly number[] | null;
  readonly attempt: number;
  /** The push has expired, or a day without a pause has passed. */
  readonly endsAt: Date;
  readonly lease: string;
  /** As it was claimed: a batch whose due time has changed meanwhile is due again at once. */
  readonly dueAt: string;
  readonly requestId: string | null;
}

/** How many batches of a lane, by its name `<app id> <lane>`, may be claimed. */
export interface LaneClaimLimits {
  readonly named: ReadonlyMap<string, number>;
  readonly others: number;
}

class NotRecorded extends Error {}

/** In one transaction: each device is in one batch, a badge grows once. `record` comes last, as renewals and claims wait for the rows that it locks. */
export async function recordWithShares<Result>(
  database: PushDatabase,
  { appId, shares }: { readonly appId: string; readonly shares: readonly VendorShare[] },
  record: (within: Queryable) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  if (shares.length === 0) return record(database);
  try {
    return await database.transaction(async (tx) => {
      await addVendorShares(tx, appId, shares);
      const result = await record(tx);
      if (result === undefined) throw new NotRecorded();
      return result;
    });
  } catch (error) {
    if (error instanceof NotRecorded) return undefined;
    throw error;
  }
}

async function addVendorShares(tx: Tx, appId: string, shares: readonly VendorShare[]): Promise<void> {
  const counted = [...new Set(shares.flatMap(badgesOf))];
  if (counted.length > 0) await tx.query(LOCK_INSTALLATIONS, [appId, counted]);
  const batches: object[] = [];
  for (const share of shares)
    for (const [lane, targets] of share.lanes) batches.push(...(await batchesOf(tx, appId, share, { lane, targets })));
  const counts = shares.flatMap(countsOfShare);
  await tx.query(ADD, [appId, JSON.stringify(batches), JSON.stringify(counts)], 'vendorBatches.add');
}

async function batchesOf(
  tx: Tx,
  appId: string,
  { objectId, isBulk, badges: counted }: VendorShare,
  { lane, targets }: { readonly lane: string; readonly targets: readonly string[] },
): Promise<object[]> {
  const counting = targets.filter((id) => counted.has(id));
  const badges = await countBadgesUp(tx, appId, counting);
  return chunksOf(targets, BATCH_SIZE).map((own) => {
    const shown = badges.size === 0 ? {} : { badges: own.map((id) => badges.get(id) ?? 1) };
    return { objectId, isBulk, lane, targets: own, ...shown };
  });
}

async function countBadgesUp(
  tx: Tx,
  appId: string,
  objectIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (objectIds.length === 0) return new Map();
  const rows = await tx.query<{ objectId: string; badge: number }>(COUNT_BADGES_UP, [appId, objectIds]);
  return new Map(rows.map(({ objectId, badge }) => [objectId, badge]));
}

/** Every change names the lease, so a process that has lost it changes nothing. */
@Injectable()
export class VendorBatchesRepository {
  constructor(private readonly database: PushDatabase) {}

  /** More may be due if a lane's limit is less than `limit`. */
  claim(limit: number, lease: string, isBulk: boolean, { named, others }: LaneClaimLimits): Promise<VendorBatch[]> {
    return this.database.query<VendorBatch>(
      CLAIM,
      [isBulk, limit, lease, JSON.stringify(Object.fromEntries(named)), LEASE_SECONDS, others],
      'vendorBatches.claim',
    );
  }

  async renew(batches: readonly VendorBatch[]): Promise<ReadonlySet<VendorBatch>> {
    const keys = JSON.stringify(batches.map(({ id, lease }) => ({ id, lease })));
    const rows = await this.database.query<{ id: string }>(RENEW, [keys, LEASE_SECONDS]);
    const ours = new Set(rows.map(({ id }) => id));
    return new Set(batches.filter(({ id }) => ours.has(id)));
  }

  /** Those that are invalid or have no token for the vendor are left out. */
  async targets(batch: VendorBatch, vendor: Vendor): Promise<ReadonlyMap<string, Omit<VendorTarget, 'badge'>>> {
    const rows = await this.database.query<Omit<VendorTarget, 'badge'>>(
      TARGETS[vendor],
      [batch.appId, batch.targets],
      `vendorBatches.targets.${vendor}`,
    );
    return new Map(rows.map((row) => [row.objectId, row]));
  }

  /** A batch in progress, which may have found its lane paused, is due again at its end. */
  async resume(appId: string, lanes: readonly string[]): Promise<void> {
    let resumed: unknown[];
    do resumed = await this.database.query(RESUME, [appId, lanes], 'vendorBatches.resume');
    while (resumed.length === RESUMED_AT_ONCE);
  }

  async countsOf(
    appId: string,
    objectIds: readonly string[],
  ): Promise<ReadonlyMap<string, Record<string, VendorCounts>>> {
    const rows = await this.database.query<
      Omit<VendorCounts, 'paused'> & { objectId: string; vendor: string; paused: number | null }
    >(COUNTS, [appId, objectIds], 'vendorBatches.counts');
    const found = new Map<string, Record<string, VendorCounts>>();
    for (const { objectId, vendor, paused, ...counts } of rows) {
      const own = paused === null ? counts : { ...counts, paused };
      found.set(objectId, { ...found.get(objectId), [vendor]: own });
    }
    return found;
  }
}

/** SQL, in the precision of the columns: PostgreSQL may round a time up, and due work would not be due yet. */
export const NOW = "date_trunc('milliseconds', now())";

const RESUMED_AT_ONCE = 5_000;

const RESUME = `
  UPDATE push.vendor_batches SET next_at = least(${NOW}, next_at - interval '1 millisecond')
   WHERE id IN (SELECT id FROM push.vendor_batches
                 WHERE app_id = $1 AND lane = ANY ($2) AND (next_at > now() OR lease_owner IS NOT NULL)
                 LIMIT ${RESUMED_AT_ONCE} FOR UPDATE) RETURNING 1`;

const MAX_BADGE = 2_147_483_647;

/** In the order in which registrations lock them. */
const LOCK_INSTALLATIONS = `
  SELECT 1 FROM push.installations WHERE app_id = $1 AND object_id = ANY ($2) ORDER BY object_id FOR NO KEY UPDATE`;

const COUNT_BADGES_UP = `
  UPDATE push.installations AS i
     SET fields = jsonb_set(i.fields, '{badge}', to_jsonb(CASE WHEN jsonb_typeof(i.fields->'badge') = 'number'
           THEN least(greatest(floor((i.fields->>'badge')::numeric), 0) + 1, ${MAX_BADGE})::int ELSE 1 END))
   WHERE i.app_id = $1 AND i.object_id = ANY ($2)
  RETURNING i.object_id AS "objectId", (i.fields->>'badge')::int AS badge`;

const MAX_REASONS = 32;
const OTHERS = 'other reasons';

/** SQL. Servers that devices have chosen name reasons, too: the rarest beyond the limit are counted together. */
export const sumOf = (one: string, other: string): string => `
  (SELECT coalesce(jsonb_object_agg(key, total), '{}')
     FROM (SELECT CASE WHEN place <= ${MAX_REASONS} THEN key ELSE '${OTHERS}' END AS key, sum(total) AS total
             FROM (SELECT key, sum(value::int) AS total,
                          row_number() OVER (ORDER BY key = '${OTHERS}' DESC, sum(value::int) DESC, key) AS place
                     FROM (SELECT * FROM jsonb_each_text(${one}) UNION ALL SELECT * FROM jsonb_each_text(${other})) AS every
                    GROUP BY key) AS summed
            GROUP BY 1) AS bounded)`;

/** SQL: the expiry of the push, at most a day from now. */
export const END = `least(push.expires_at, now() + interval '1 day')`;

/** The lock of a push keeps a concurrent removal from failing the statement. */
const ADD = `
  WITH pushes AS (
    SELECT object_id, expires_at FROM push.notifications
     WHERE app_id = $1 AND object_id IN (SELECT "objectId" FROM jsonb_to_recordset($3::jsonb) AS one ("objectId" text))
     ORDER BY object_id FOR KEY SHARE
  ), batches AS (
    INSERT INTO push.vendor_batches (app_id, object_id, lane, is_bulk, targets, badges, next_at, expires_at)
    SELECT $1, push.object_id, batch.lane, batch."isBulk", batch.targets, batch.badges, ${NOW},
           ${END}
      FROM jsonb_to_recordset($2::jsonb)
        AS batch ("objectId" text, lane text, "isBulk" boolean, targets text[], badges integer[])
      JOIN pushes AS push ON push.object_id = batch."objectId"
  )
  INSERT INTO push.vendor_counts AS known (app_id, object_id, vendor, targeted, reasons)
  SELECT $1, push.object_id, added.vendor, added.targeted, added.reasons
    FROM (SELECT "objectId", vendor, sum(targeted)::int AS targeted,
                 coalesce((jsonb_agg(reasons) FILTER (WHERE reasons <> '{}'))->0, '{}') AS reasons
            FROM jsonb_to_recordset($3::jsonb) AS one ("objectId" text, vendor text, targeted integer, reasons jsonb)
           GROUP BY 1, 2) AS added
    JOIN pushes AS push ON push.object_id = added."objectId"
  ON CONFLICT ON CONSTRAINT vendor_counts_pkey DO UPDATE
     SET targeted = known.targeted + excluded.targeted, reasons = ${sumOf('known.reasons', 'excluded.reasons')}`;

const CLAIM_LIMIT = `coalesce(($4::jsonb->>(app_id || ' ' || lane))::integer, $6::integer)`;

const IS_DUE = 'batch.next_at <= now() AND (lease_until IS NULL OR lease_until <= now())';

/** One index look-up for each lane and its room, however many batches wait. Spare batches replace those that other processes claim meanwhile. */
const CLAIM = `
  WITH RECURSIVE lanes AS (
    (SELECT app_id, lane FROM push.vendor_batches WHERE is_bulk = $1 ORDER BY app_id, lane LIMIT 1)
    UNION ALL
    SELECT next.* FROM lanes CROSS JOIN LATERAL (
      SELECT app_id, lane FROM push.vendor_batches AS other
       WHERE is_bulk = $1 AND (other.app_id, other.lane) > (lanes.app_id, lanes.lane) ORDER BY app_id, lane LIMIT 1) AS next
  ), next AS (
    SELECT own.id, room, own.next_at, row_number() OVER (PARTITION BY app_id, lane ORDER BY next_at, own.id) > room AS is_spare
      FROM (SELECT app_id, lane, ${CLAIM_LIMIT} AS room FROM lanes) AS open CROSS JOIN LATERAL (
        SELECT id, next_at FROM push.vendor_batches AS batch
         WHERE is_bulk = $1 AND batch.app_id = open.app_id AND batch.lane = open.lane AND ${IS_DUE}
         ORDER BY next_at, id LIMIT room * 8) AS own
     WHERE room > 0 ORDER BY is_spare, next_at, id LIMIT 64
  ), due AS (
    SELECT id, lease_owner, row_number() OVER (PARTITION BY app_id, lane ORDER BY next_at, id) <= room AS has_room
      FROM (SELECT batch.*, room FROM push.vendor_batches AS batch JOIN next ON next.id = batch.id WHERE ${IS_DUE}
             ORDER BY is_spare, next.next_at, next.id LIMIT $2 FOR UPDATE OF batch SKIP LOCKED) AS first
  )
  UPDATE push.vendor_batches AS batch SET lease_owner = $3, lease_until = now() + make_interval(secs => $5)
    FROM due, push.notifications AS push
   WHERE batch.id = due.id AND due.has_room AND push.app_id = batch.app_id AND push.object_id = batch.object_id
  RETURNING batch.id::text AS id, batch.app_id AS "appId", batch.object_id AS "objectId", lane, batch.is_bulk AS "isBulk",
            targets, badges, attempt, key_no AS "keyNo", due.lease_owner IS NOT NULL OR attempt > key_no AS "isRepeat", push.expires_at AS "expiresAt", batch.expires_at AS "endsAt", batch.lease_owner AS lease,
            batch.next_at::text AS "dueAt", push.data, push.message, push.prod,
            push.request_id AS "requestId"`;

const RENEW = `
  UPDATE push.vendor_batches AS batch SET lease_until = now() + make_interval(secs => $2)
    FROM jsonb_to_recordset($1::jsonb) AS held (id bigint, lease text)
   WHERE batch.id = held.id AND batch.lease_owner = held.lease
  RETURNING batch.id::text AS id`;

const targetsWith = (token: string, condition: string) => `
  SELECT object_id AS "objectId", ${token} AS token, coalesce(device_type, '') AS platform,
         nullif(fields->>'apnsTopic', '') AS topic
    FROM push.installations
   WHERE app_id = $1 AND object_id = ANY ($2) AND valid AND ${condition}`;

/** Visible ASCII without a comma, which separates the tokens of a list. */
const TOKEN = '^[!-+.-~-]+$';

const androidTargets = (...names: string[]) =>
  targetsWith(
    `fields->>'registrationId'`,
    `lower(fields->>'vendor') IN (${names.map((name) => `'${name}'`).join(', ')}) AND fields->>'registrationId' ~ '${TOKEN}'
       AND length(fields->>'registrationId') <= 1024`,
  );

const TARGETS: Readonly<Record<Vendor, string>> = {
  apns: targetsWith('device_token', 'device_token IS NOT NULL'),
  fcm: androidTargets('fcm'),
  huawei: androidTargets('hms'),
  honor: androidTargets('honor'),
  xiaomi: androidTargets('mi', 'mi-intl'),
  oppo: androidTargets('oppo'),
  vivo: androidTargets('vivo'),
  meizu: androidTargets('mz'),
  'web-push': targetsWith(`fields->>'webPush'`, `fields ? 'webPush'`),
};

const PAUSED = `
  (SELECT sum(cardinality(batch.targets))::int
     FROM push.vendor_batches AS batch JOIN push.vendor_lanes AS lane ON lane.app_id = batch.app_id AND lane.lane = batch.lane
    WHERE batch.app_id = n.app_id AND batch.object_id = n.object_id AND starts_with(batch.lane, n.vendor || '/')
      AND lane.paused_at IS NOT NULL)`;

const COUNTS = `
  SELECT object_id AS "objectId", vendor, targeted, accepted, invalid, rejected, expired,
         targeted - accepted - invalid - rejected - expired AS waiting,
         CASE WHEN targeted > accepted + invalid + rejected + expired THEN ${PAUSED} END AS paused, reasons
    FROM push.vendor_counts AS n WHERE app_id = $1 AND object_id = ANY ($2) ORDER BY object_id, vendor`;

import { Injectable } from '@nestjs/common';
import type { VendorLaneState } from '#contracts';
import { PushDatabase } from '../push-delivery.database.js';
import { lanesOf, type OwnedKey } from './vendor-credentials.repository.js';

export type LaneChange = 'pause' | 'resume' | 'trust';

interface NotableLanes {
  readonly vendor: string;
  readonly paused: number;
  readonly doubted: number;
}

interface WaitingDevices {
  readonly vendor: string;
  readonly devices: number;
  readonly seconds: number;
}

export interface ListedLane {
  readonly appId: string;
  readonly lane: string;
  readonly before: Date | null;
}

const SEEN_SECONDS = 90;

@Injectable()
export class VendorLanesRepository {
  constructor(private readonly database: PushDatabase) {}

  async pausedOf(appId: string): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ lane: string }>(
      'SELECT lane FROM push.vendor_lanes WHERE app_id = $1 AND paused_at IS NOT NULL',
      [appId],
      'vendorLanes.paused',
    );
    return new Set(rows.map(({ lane }) => lane));
  }

  /** @returns false if the application has no such credentials */
  async change(key: OwnedKey, change: LaneChange): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE push.vendor_lanes SET ${CHANGES[change]} WHERE app_id = $1 AND lane = ANY ($2) RETURNING lane`,
      [key.appId, lanesOf(key)],
      `vendorLanes.${change}`,
    );
    return rows.length > 0;
  }

  states(appId: string): Promise<VendorLaneState[]> {
    return this.database.query<VendorLaneState>(STATES, [appId], 'vendorLanes.states');
  }

  waiting(): Promise<WaitingDevices[]> {
    return this.database.query<WaitingDevices>(WAITING, [], 'vendorLanes.waiting');
  }

  notable(): Promise<NotableLanes[]> {
    return this.database.query<NotableLanes>(NOTABLE, [], 'vendorLanes.notable');
  }

  async report(instance: string): Promise<void> {
    await this.database.query(REPORT, [instance], 'vendorLanes.report');
  }

  async leave(instance: string): Promise<void> {
    await this.database.query('DELETE FROM push.vendor_senders WHERE instance = $1', [instance]);
  }

  async senders(): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM push.vendor_senders WHERE seen_at > now() - make_interval(secs => ${SEEN_SECONDS})`,
    );
    return row?.count ?? 0;
  }

  async claimList(vendor: string, seconds: number): Promise<ListedLane | undefined> {
    const [row] = await this.database.query<ListedLane>(CLAIM_LIST, [`${vendor}/`, seconds], 'vendorLanes.claimList');
    return row;
  }

  async confirmList({ appId, lane }: ListedLane): Promise<void> {
    const sql = 'UPDATE push.vendor_lanes SET list_read_at = list_asked_at WHERE app_id = $1 AND lane = $2';
    await this.database.query(sql, [appId, lane], 'vendorLanes.confirmList');
  }

  /** Installations saved since the list was last read stay: their device may have registered the token again. @returns their number */
  async invalidate(
    { appId, before }: ListedLane,
    names: readonly string[],
    tokens: readonly string[],
  ): Promise<number> {
    const rows = await this.database.query(INVALIDATE, [appId, before, names, tokens], 'vendorLanes.invalidate');
    return rows.length;
  }
}

const FORGET_COUNTS = 'counted_since = now(), answers = 0, good = 0, doubtful = 0';

/** A trusting operator has compared the credentials with the app: for an hour, no answer is doubted. */
const CHANGES: Readonly<Record<LaneChange, string>> = {
  pause: 'paused_at = coalesce(paused_at, now())',
  resume: 'paused_at = NULL',
  trust: `trusted_until = now() + interval '1 hour', doubted_at = NULL, ${FORGET_COUNTS}`,
};

const STATES = `
  SELECT lane.lane, lane.paused_at IS NOT NULL AS "isPaused", lane.doubted_at IS NOT NULL AS "isDoubted",
         coalesce(lane.trusted_until > now(), false) AS "isTrusted", coalesce(waiting.devices, 0)::int AS devices,
         coalesce(greatest(extract(epoch FROM now() - waiting.since), 0), 0)::float8 AS seconds
    FROM push.vendor_lanes AS lane
    LEFT JOIN (SELECT lane, sum(cardinality(targets)) AS devices, min(next_at) AS since
                 FROM push.vendor_batches WHERE app_id = $1 GROUP BY lane) AS waiting ON waiting.lane = lane.lane
   WHERE lane.app_id = $1 ORDER BY lane.lane`;

const NOTABLE = `
  SELECT split_part(lane, '/', 1) AS vendor, count(paused_at)::int AS paused, count(doubted_at)::int AS doubted
    FROM push.vendor_lanes WHERE paused_at IS NOT NULL OR doubted_at IS NOT NULL GROUP BY 1`;

/** Processes that were killed report no end. */
const REPORT = `
  WITH gone AS (DELETE FROM push.vendor_senders WHERE seen_at < now() - interval '1 day')
  INSERT INTO push.vendor_senders (instance, seen_at) VALUES ($1, now())
  ON CONFLICT ON CONSTRAINT vendor_senders_pkey DO UPDATE SET seen_at = excluded.seen_at`;

/** Both environments of a lane share the list, and the row of production keeps when it was read. */
const CLAIM_LIST = `
  WITH due AS (
    SELECT list.app_id, list.lane, greatest(list.list_read_at, other.list_read_at) AS before
      FROM push.vendor_lanes AS list
      LEFT JOIN push.vendor_lanes AS other ON other.app_id = list.app_id AND other.lane = regexp_replace(list.lane, '/prod$', '/dev')
     WHERE starts_with(list.lane, $1) AND list.lane LIKE '%/prod' AND list.paused_at IS NULL
       AND greatest(list.used_at, other.used_at) > coalesce(greatest(list.list_asked_at, other.list_asked_at), '-infinity')
       AND coalesce(greatest(list.list_asked_at, other.list_asked_at), '-infinity') < now() - make_interval(secs => $2)
     LIMIT 1 FOR UPDATE OF list SKIP LOCKED
  )
  UPDATE push.vendor_lanes AS lane SET list_asked_at = now() FROM due
   WHERE lane.app_id = due.app_id AND lane.lane = due.lane
  RETURNING lane.app_id AS "appId", lane.lane, due.before`;

const INVALIDATE = `
  UPDATE push.installations AS i SET valid = false, invalid_reason = 'on the list of invalid tokens'
    FROM (SELECT one.app_id, one.object_id FROM unnest($4::text[]) AS token
            JOIN push.installations AS one ON one.fields @> jsonb_build_object('registrationId', token)
           WHERE one.app_id = $1 AND lower(one.fields->>'vendor') = ANY ($3)
           ORDER BY one.object_id FOR NO KEY UPDATE OF one) AS target
   WHERE i.app_id = target.app_id AND i.object_id = target.object_id AND i.valid AND i.updated_at < $2
  RETURNING i.object_id`;

/** Limit of the batches that are counted: the exact value does not matter above it. */
const COUNTED = 10_000;

const WAITING = `
  SELECT split_part(lane, '/', 1) AS vendor, sum(cardinality(targets))::float8 AS devices,
         greatest(extract(epoch FROM now() - min(next_at)), 0)::float8 AS seconds
    FROM (SELECT lane, targets, next_at FROM push.vendor_batches ORDER BY is_bulk, next_at, id LIMIT ${COUNTED}) AS waiting
   GROUP BY 1`;

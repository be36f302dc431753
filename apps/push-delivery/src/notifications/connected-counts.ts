import { Inject, Injectable } from '@nestjs/common';
import { Clock, PeriodicJob } from '#bootstrap';
import type { pushOperationsRpc, RpcReply } from '#contracts';
import type { Queryable } from '#database';
import { QueryDatabase } from '#objects/store';
import { Metrics } from '#observability';
import { DEVICE_QUEUES, type DeviceQueues } from '../device-queues/device-queues.js';
import { PushDatabase } from '../push-delivery.database.js';

const COUNT_INTERVAL_MS = 60_000;
const QUARTER_HOUR_MS = 900_000;
const DEPLOYMENT = '';

/** In the order of the key, so that two processes cannot wait for each other. */
const STORE_CONNECTED = `
  INSERT INTO push.connected_counts AS stored (app_id, at, connected)
  SELECT app_id, $1, connected FROM unnest($2::text[], $3::integer[]) AS counted (app_id, connected) ORDER BY app_id
  ON CONFLICT ON CONSTRAINT connected_counts_pkey DO UPDATE SET connected = EXCLUDED.connected
   WHERE stored.connected < EXCLUDED.connected`;

const CONNECTED_BY_HOUR = `
  SELECT date_trunc('hour', at, 'UTC') AS at, COALESCE(max(connected) FILTER (WHERE app_id = $1), 0) AS connected
    FROM push.connected_counts
   WHERE app_id IN ($1, '${DEPLOYMENT}') AND at >= $2::date::timestamp AT TIME ZONE 'UTC'
   GROUP BY 1 ORDER BY 1`;

/** Counts the connected devices each minute, and keeps the most of each quarter of an hour. Concurrent counts are safe. */
@Injectable()
export class ConnectedCounts extends PeriodicJob {
  constructor(
    private readonly database: PushDatabase,
    private readonly queries: QueryDatabase,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly clock: Clock,
    metrics: Metrics,
  ) {
    super({ name: 'connected-counts', intervalMs: COUNT_INTERVAL_MS, metrics });
  }

  /** @param from the first day in UTC @throws AppError QUERY_TIMED_OUT */
  async byHour(
    appId: string,
    from: string,
    within: Queryable = this.queries,
  ): Promise<RpcReply<typeof pushOperationsRpc.countConnectedByHour>['hours']> {
    const hours = await within.query<{ at: Date; connected: number }>(CONNECTED_BY_HOUR, [appId, from]);
    return hours.map(({ at, connected }) => ({ at: at.toISOString(), connected }));
  }

  async processBatch(): Promise<boolean> {
    const counted = [...(await this.queues.countAllConnected())].filter(([, connected]) => connected > 0);
    const all = counted.reduce((sum, [, connected]) => sum + connected, 0);
    const rows = [[DEPLOYMENT, all] as const, ...counted];
    const at = new Date(Math.floor(this.clock.now().getTime() / QUARTER_HOUR_MS) * QUARTER_HOUR_MS);
    const values = [at, rows.map(([appId]) => appId), rows.map(([, connected]) => connected)];
    await this.database.query(STORE_CONNECTED, values, 'connectedCounts.store');
    return false;
  }
}

import { Injectable, Logger } from '@nestjs/common';
import { Clock, PeriodicJob } from '#bootstrap';
import type { RpcReply, userSearchRpc } from '#contracts';
import { CleanupJob, Database, type Queryable } from '#database';
import { messageOf } from '#errors';
import { QueryDatabase } from '#objects/store';
import { Metrics } from '#observability';

type DayCounts = RpcReply<typeof userSearchRpc.countByDay>['days'];

const INTERVAL_MS = 5_000;

/** In the order of the key, so that two processes cannot wait for each other. */
const ADD_LOGINS = `
  INSERT INTO accounts.daily_logins AS stored (app_id, day, logins)
  SELECT * FROM unnest($1::text[], $2::date[], $3::bigint[]) AS added (app_id, day, logins) ORDER BY app_id, day
  ON CONFLICT ON CONSTRAINT daily_logins_pkey DO UPDATE SET logins = stored.logins + EXCLUDED.logins`;
const COUNT_BY_DAY = `
  WITH sign_ups AS (
    SELECT (created_at AT TIME ZONE 'UTC')::date AS day, count(*)::float8 AS sign_ups
      FROM accounts.users WHERE app_id = $1 AND created_at >= $2::date::timestamp AT TIME ZONE 'UTC' GROUP BY 1
  ), logins AS (
    SELECT day, logins::float8 FROM accounts.daily_logins WHERE app_id = $1 AND day >= $2::date
  )
  SELECT day::text, COALESCE(sign_ups, 0) AS "signUps", COALESCE(logins, 0) AS logins
    FROM sign_ups FULL JOIN logins USING (day) ORDER BY day`;

interface Logins {
  readonly appId: string;
  readonly day: string;
  count: number;
}

/** Logins are summed in memory and stored every five seconds: they cost no statement, and a crash loses those of the last seconds. */
@Injectable()
export class DailyCounts extends PeriodicJob {
  readonly #logger = new Logger('DailyCounts');
  #logins = new Map<string, Logins>();

  constructor(
    private readonly database: Database,
    private readonly queries: QueryDatabase,
    private readonly clock: Clock,
    metrics: Metrics,
  ) {
    super({ name: 'daily-counts', intervalMs: INTERVAL_MS, metrics });
  }

  countLogin(appId: string): void {
    this.#add({ appId, day: this.clock.now().toISOString().slice(0, 10), count: 1 });
  }

  /** @param from the first day; days without anything are left out. @throws AppError QUERY_TIMED_OUT */
  since(appId: string, from: string, within: Queryable = this.queries): Promise<DayCounts> {
    return within.query(COUNT_BY_DAY, [appId, from]);
  }

  async processBatch(): Promise<boolean> {
    const logins = [...this.#logins.values()];
    if (logins.length === 0) return false;
    this.#logins = new Map();
    try {
      const columns = [
        logins.map(({ appId }) => appId),
        logins.map(({ day }) => day),
        logins.map(({ count }) => count),
      ];
      await this.database.query(ADD_LOGINS, columns);
    } catch (error) {
      for (const each of logins) this.#add(each);
      throw error;
    }
    return false;
  }

  override async beforeApplicationShutdown(): Promise<void> {
    await super.beforeApplicationShutdown();
    await this.processBatch().catch((error: unknown) => {
      this.#logger.warn(`the logins of the last seconds were not counted: ${messageOf(error)}`);
    });
  }

  #add({ appId, day, count }: Logins): void {
    const key = `${day} ${appId}`;
    const sum = this.#logins.get(key);
    if (sum === undefined) this.#logins.set(key, { appId, day, count });
    else sum.count += count;
  }
}

const CLEANUP_INTERVAL_MS = 300_000;
/** Longer than a year, so that each day can be compared with that of the year before. */
const OLD_LOGINS = { table: 'accounts.daily_logins', where: `day < (now() AT TIME ZONE 'UTC')::date - 400` };

@Injectable()
export class LoginCountsCleanup extends CleanupJob {
  constructor(database: Database, metrics: Metrics) {
    super({
      name: 'login-counts-cleanup',
      intervalMs: CLEANUP_INTERVAL_MS,
      metrics,
      database,
      unneeded: [OLD_LOGINS],
    });
  }
}

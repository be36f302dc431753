import type { Metrics } from '#observability';
import type { Database } from './database.js';

/** Has a database's connections told at every scrape. */
export function tellPool(database: Pick<Database, 'pool'>, pool: string, metrics: Metrics): void {
  metrics.sample({
    // Others tell theirs beside it.
    gauges: [],
    read: () => {
      const { used, idle, limit, waiting } = database.pool;
      metrics.databaseConnections.set({ pool, state: 'used' }, used);
      metrics.databaseConnections.set({ pool, state: 'idle' }, idle);
      metrics.databaseLimit.set({ pool }, limit);
      metrics.databaseWaiting.set({ pool }, waiting);
    },
  });
}

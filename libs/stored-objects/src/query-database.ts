import { Database, type DatabaseOptions, type Queryable } from '#database';
import { queryFailure } from './query-failure.js';

/** A query that takes longer helps nobody, in milliseconds. Less than the caller of an RPC waits. */
const STATEMENT_TIMEOUT_MS = 3_000;

/** A database for statements that clients word. */
class WordedDatabase extends Database {
  /** @throws AppError QUERY_TIMED_OUT; INVALID_QUERY where PostgreSQL refuses a regular expression */
  override async query<Row>(sql: string, parameters: readonly unknown[] = [], statementName?: string): Promise<Row[]> {
    try {
      return await super.query<Row>(sql, parameters, statementName);
    } catch (error) {
      throw queryFailure(error);
    }
  }
}

/**
 * Connections of their own for queries that clients word themselves, and that are more than a look-up: however many and slow
 * those are, what else the service does keeps its own. Give it half as many as the others. What an index of custom fields answers has as many
 * besides, since a connection plans its statements either for each run or once; they are opened only where there are such indexes.
 */
export class QueryDatabase extends WordedDatabase {
  /** What has one plan, whatever the values. */
  readonly indexed: Database;

  constructor(options: DatabaseOptions) {
    const bounded = { ...options, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
    super({ ...bounded, plans: 'each-run' });
    this.indexed = new WordedDatabase({
      ...bounded,
      applicationName: `${options.applicationName}-indexed`,
      plans: 'once',
    });
  }

  /** Where a query runs. */
  for({ isIndexed }: { readonly isIndexed: boolean }): Queryable {
    return isIndexed ? this.indexed : this;
  }

  override async close(): Promise<void> {
    await Promise.all([super.close(), this.indexed.close()]);
  }
}

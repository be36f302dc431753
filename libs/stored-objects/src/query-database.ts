import { Database, type DatabaseOptions } from '#database';
import { queryFailure } from './query-failure.js';

/** A query that takes longer helps nobody, in milliseconds. Less than the caller of an RPC waits. */
const STATEMENT_TIMEOUT_MS = 3_000;

/**
 * Connections of their own for queries that clients word themselves, and that are more than a look-up: however many and slow
 * those are, what else the service does keeps its own. Give it half as many as the others.
 */
export class QueryDatabase extends Database {
  constructor(options: DatabaseOptions) {
    super({ ...options, statementTimeoutMs: STATEMENT_TIMEOUT_MS, plansEachRun: true });
  }

  /** @throws AppError QUERY_TIMED_OUT; INVALID_QUERY where PostgreSQL refuses a regular expression */
  override async query<Row>(sql: string, parameters: readonly unknown[] = [], statementName?: string): Promise<Row[]> {
    try {
      return await super.query<Row>(sql, parameters, statementName);
    } catch (error) {
      throw queryFailure(error);
    }
  }
}

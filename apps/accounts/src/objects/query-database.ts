import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Database } from '#database';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { accountsDatabase } from '../accounts.database.js';
import { queryFailure } from '#stored-objects';

/** A query that takes longer helps nobody, in milliseconds. Less than the caller of an RPC waits. */
const STATEMENT_TIMEOUT_MS = 3_000;

/**
 * Connections of their own for queries that clients word themselves: however many and slow those are, logins and look-ups
 * keep theirs. Half as many as the others.
 */
@Injectable()
export class QueryDatabase extends Database implements OnApplicationShutdown {
  constructor(@Inject(ACCOUNTS_CONFIG) { databaseUrl, databasePool }: AccountsConfig) {
    super({
      ...accountsDatabase(databaseUrl, Math.ceil(databasePool / 2)),
      applicationName: 'gatepost-accounts-queries',
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    });
  }

  /** @throws AppError QUERY_TIMED_OUT; INVALID_QUERY where PostgreSQL refuses a regular expression */
  override async query<Row>(sql: string, parameters: readonly unknown[] = [], statementName?: string): Promise<Row[]> {
    try {
      return await super.query<Row>(sql, parameters, statementName);
    } catch (error) {
      throw queryFailure(error);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}

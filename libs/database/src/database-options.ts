import type { MigrationInterface } from 'typeorm';

/** A service's database: where it is, its schema, and the migrations that make it. */
export interface DatabaseOptions {
  readonly url: string;
  readonly schema: string;
  readonly migrations: readonly (new () => MigrationInterface)[];
  readonly poolSize: number;
  readonly applicationName: string;
  /** Longer statements are given up, in milliseconds. 5 seconds unless given. */
  readonly statementTimeoutMs?: number;
  /**
   * How statements that stay prepared are planned: for the values of each run, where one plan for all values would not do; once, where it always does; else
   * as PostgreSQL finds better.
   */
  readonly plans?: 'each-run' | 'once';
}

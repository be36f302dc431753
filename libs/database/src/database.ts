import type { DataSource, QueryRunner } from 'typeorm';
import { translateDriverError } from './driver-error.js';

/** Runs SQL. Values are parameters, always; the text is written by us. */
export interface Queryable {
  query<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
}

/**
 * An open transaction. Repository writes demand one, so that forgetting it does not compile.
 * Only `Database.transaction` makes it.
 */
export class Tx implements Queryable {
  readonly #runner: QueryRunner;
  readonly #afterCommit: (() => void)[] = [];

  constructor(runner: QueryRunner) {
    this.#runner = runner;
  }

  query<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return run<Row>(this.#runner, sql, parameters);
  }

  /** Calls back once the transaction is committed; never if it is rolled back. */
  afterCommit(callback: () => void): void {
    this.#afterCommit.push(callback);
  }

  /** @internal */
  committed(): void {
    for (const callback of this.#afterCommit) callback();
  }
}

/** A service's own database. A lost connection surfaces as SERVICE_UNAVAILABLE. */
export class Database implements Queryable {
  constructor(readonly dataSource: DataSource) {}

  async query<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    const runner = this.dataSource.createQueryRunner();
    try {
      return await run<Row>(runner, sql, parameters);
    } finally {
      await runner.release();
    }
  }

  /** Commits what `work` did, or nothing of it where it throws. Never call another service inside. */
  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    const tx = new Tx(runner);
    try {
      await connected(runner.startTransaction());
      const result = await work(tx);
      await connected(runner.commitTransaction());
      tx.committed();
      return result;
    } catch (error) {
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      throw error;
    } finally {
      await runner.release();
    }
  }
}

async function run<Row>(runner: QueryRunner, sql: string, parameters: readonly unknown[]): Promise<Row[]> {
  const result = await connected(runner.query(sql, [...parameters], true));
  return result.records as Row[];
}

async function connected<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw translateDriverError(error);
  }
}

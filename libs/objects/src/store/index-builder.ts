import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { Database, type DatabaseOptions, isInterrupted, PollingWorker } from '#database';
import { reasonOf } from '#errors';
import { FailureLog } from '#observability';
import { fieldIndexDefinition, isTextSearch, textSearchDefinition } from '../query/field-index.js';
import type { FieldIndexed } from './field-indexes.js';
import type { FieldIndexesRepository, StoredIndex } from './field-indexes.repository.js';

/**
 * Delay between the request for a removal and the removal, because processes may still use the index: their cache is up to 1 s old, and a
 * query takes up to 3 s.
 */
const IN_USE_MS = 5_000;
/** Builds have no tight limit, because large tables take long. */
const LONGEST_STATEMENT_MS = 24 * 60 * 60 * 1_000;
/** An arbitrary key: one builder of a database works at a time. */
const BUILDER_LOCK = 7_236_402;
/** Characters of the stored reason of a failed build. */
const LONGEST_REASON = 300;

/**
 * Creates and drops PostgreSQL's indexes as operators request. Every process of a service has a builder; one works at a time, during
 * traffic, on a connection of its own. An unfinished build, however its process ended, is dropped and restarted by the next builder.
 */
export class IndexBuilder {
  readonly #logger = new Logger('FieldIndexes');
  readonly #failures = new FailureLog(this.#logger, 'work on indexes of custom fields');
  readonly #worker = new PollingWorker({ round: () => this.#work() });
  #backend: number | undefined;
  readonly #stopping = new AbortController();

  constructor(
    private readonly repository: FieldIndexesRepository,
    private readonly classes: FieldIndexed,
    private readonly options: DatabaseOptions,
    private readonly database: Database,
  ) {}

  start(): void {
    this.#worker.start();
  }

  /** Cancels the current build; another process restarts it. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#backend !== undefined)
      await this.database.query('SELECT pg_terminate_backend($1)', [this.#backend]).catch(() => undefined);
    await this.#worker.stop();
  }

  async #work(): Promise<false> {
    try {
      if ((await this.repository.pending()).length > 0) await this.#takeTurn();
      this.#failures.succeeded();
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#failures.failed(error);
    }
    return false;
  }

  async #takeTurn(): Promise<void> {
    const own = new Database({
      ...this.options,
      poolSize: 1,
      applicationName: `${this.options.applicationName}-indexes`,
      statementTimeoutMs: LONGEST_STATEMENT_MS,
    });
    try {
      const [row] = await own.query<{ isLocked: boolean; pid: number }>(
        `SELECT pg_try_advisory_lock(${BUILDER_LOCK}) AS "isLocked", pg_backend_pid() AS pid`,
      );
      this.#backend = row?.pid;
      if (row?.isLocked === true) await this.#workThrough(own);
    } finally {
      this.#backend = undefined;
      await own.close();
    }
  }

  async #workThrough(own: Database): Promise<void> {
    for (const index of await this.repository.pending()) {
      if (this.#stopping.signal.aborted) return;
      if (index.state === 'removing') await this.#remove(index, own);
      else await this.#build(index, own);
    }
  }

  async #remove(index: StoredIndex, own: Database): Promise<void> {
    await sleep(Math.max(0, index.changedAt.getTime() + IN_USE_MS - Date.now()), undefined, {
      signal: this.#stopping.signal,
    });
    await this.#drop(index, own);
    await this.repository.forget(index);
    this.#logger.log(`removed ${nameOf(index)}`);
  }

  /** A failed build marks the index as failed. An interrupted one does not, and the next round retries. */
  async #build(index: StoredIndex, own: Database): Promise<void> {
    try {
      await this.#create(index, own);
    } catch (error) {
      if (isInterrupted(error)) throw error;
      await this.#fail(index, reasonOf(error), own);
      return;
    }
    await this.repository.markBuilt(index, null);
    this.#logger.log(`built ${nameOf(index)}`);
  }

  /** The unfinished index takes up disk, so it is dropped. Where that fails too, the next build or removal drops it. */
  async #fail(index: StoredIndex, reason: string, own: Database): Promise<void> {
    this.#logger.warn(`cannot build ${nameOf(index)}: ${reason}`);
    try {
      await this.#drop(index, own);
    } finally {
      await this.repository.markBuilt(index, reason.slice(0, LONGEST_REASON));
    }
  }

  async #create(index: StoredIndex, own: Database): Promise<void> {
    const queryClass = this.classes.get(index.className);
    if (queryClass === undefined) throw new Error(`no class ${index.className} in this service`);
    const [found] = await own.query<{ isValid: boolean }>(
      'SELECT indisvalid AS "isValid" FROM pg_index WHERE indexrelid = to_regclass($1)',
      [this.#qualified(index)],
    );
    if (found?.isValid === false) await this.#drop(index, own);
    if (found?.isValid !== true) {
      const definition = isTextSearch(index, queryClass)
        ? textSearchDefinition(index, index.appId, queryClass, await this.#trigrams(own))
        : fieldIndexDefinition(index, index.appId, queryClass);
      await own.query(`CREATE INDEX CONCURRENTLY ${index.indexName} ON ${queryClass.table} ${definition}`);
    }
    // Without statistics of its expressions, PostgreSQL cannot estimate the benefit of the index.
    await own.query(`ANALYZE ${queryClass.table}`);
  }

  /** The operator class of trigrams. An extension exists once in a database, in any schema. */
  async #trigrams(own: Database): Promise<string> {
    await own.query(`CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA ${this.options.schema}`);
    const [row] = await own.query<{ schema: string }>(
      `SELECT quote_ident(nspname) AS schema FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
        WHERE extname = 'pg_trgm'`,
    );
    return `${row?.schema ?? this.options.schema}.gin_trgm_ops`;
  }

  async #drop(index: StoredIndex, own: Database): Promise<void> {
    await own.query(`DROP INDEX CONCURRENTLY IF EXISTS ${this.#qualified(index)}`);
  }

  #qualified({ indexName }: StoredIndex): string {
    return `${this.options.schema}.${indexName}`;
  }
}

function nameOf({ appId, className, fields, indexName }: StoredIndex): string {
  return `the index ${indexName} of ${className} (${fields.join(', ')}) of application ${appId}`;
}

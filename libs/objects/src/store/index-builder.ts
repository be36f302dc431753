import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { Database, type DatabaseOptions, PollingWorker } from '#database';
import { AppError, isAppError, messageOf } from '#errors';
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

/**
 * Creates and drops PostgreSQL's indexes as operators request. Every process of a service has a builder; one works at a time, during
 * traffic, on a connection of its own. An unfinished build, however its process ended, is dropped and restarted by the next builder.
 */
export class IndexBuilder {
  readonly #logger = new Logger('FieldIndexes');
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
    } catch (error) {
      const isUnavailable = isAppError(error, 'SERVICE_UNAVAILABLE');
      if (!this.#stopping.signal.aborted)
        this.#logger[isUnavailable ? 'debug' : 'warn'](`indexes of custom fields are postponed: ${messageOf(error)}`);
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

  /** An error of PostgreSQL marks the index as failed; an unreachable PostgreSQL does not, and the next round retries. */
  async #build(index: StoredIndex, own: Database): Promise<void> {
    try {
      await this.#create(index, own);
      await this.repository.markBuilt(index, null);
      this.#logger.log(`built ${nameOf(index)}`);
    } catch (error) {
      if (error instanceof AppError) throw error;
      this.#logger.warn(`cannot build ${nameOf(index)}: ${messageOf(error)}`);
      await this.#drop(index, own);
      await this.repository.markBuilt(index, messageOf(error).slice(0, 300));
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

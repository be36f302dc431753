import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, Logger, type Type } from '@nestjs/common';
import { TtlCache } from '#bootstrap';
import type { FieldIndexesRpc, FieldIndexReport, RpcData, RpcReply } from '#contracts';
import { Database, type DatabaseOptions, isInterrupted, PollingWorker } from '#database';
import { appError, reasonOf } from '#errors';
import { RpcHandler } from '#messaging';
import { FailureLog } from '#observability';
import { type FieldIndex, fieldIndexDefinition, isTextSearch, textSearchDefinition } from '../query/field-index.js';
import type { QueryClass } from '../query/query.js';
import type { FieldIndexesRepository, IndexKey, StoredIndex } from './field-indexes.repository.js';
import { SlowQueries } from './slow-queries.js';

type Data<Name extends keyof FieldIndexesRpc> = RpcData<FieldIndexesRpc[Name]>;
type Reply<Name extends keyof FieldIndexesRpc> = Promise<RpcReply<FieldIndexesRpc[Name]>>;

export interface FieldIndexed {
  get(className: string): QueryClass | undefined;
}

/** One cache entry for all applications, because indexes are few. */
const ALL = 'all';

export class FieldIndexes {
  readonly #ready = new TtlCache(async () => ({ indexes: await this.repository.ready() }));

  constructor(
    private readonly repository: FieldIndexesRepository,
    private readonly classes: FieldIndexed,
  ) {}

  /** At most 1 s old: a statement returns the same rows without its index. @throws AppError SERVICE_UNAVAILABLE */
  async of(appId: string, className: string): Promise<readonly FieldIndex[]> {
    const { indexes } = await this.#ready.get(ALL);
    return indexes.filter((index) => index.appId === appId && index.className === className);
  }

  async add(key: IndexKey): Promise<void> {
    this.#assertPossible(key);
    await this.repository.add(key);
  }

  /** Adds an index of built-in texts, for searches of a part of a text. @throws AppError INVALID_QUERY as `add` */
  async addTextSearch(key: IndexKey): Promise<void> {
    const queryClass = this.classes.get(key.className);
    if (queryClass === undefined || !isTextSearch(key, queryClass))
      throw new Error(`${key.fields.join(', ')} are not texts of ${key.className}`);
    await this.repository.add(key);
  }

  async remove(key: IndexKey): Promise<void> {
    if (!(await this.repository.markRemoving(key)))
      throw appError('NOT_FOUND', { message: `There is no index of ${key.fields.join(', ')} of ${key.className}.` });
    this.#ready.forget(ALL);
  }

  report(appId: string): Promise<FieldIndexReport[]> {
    return this.repository.report(appId);
  }

  #assertPossible({ appId, className, fields }: IndexKey): void {
    const queryClass = this.classes.get(className);
    if (queryClass === undefined) throw refused(`The class ${className} belongs to another service.`);
    if (new Set(fields).size < fields.length) throw refused('An index cannot contain a field twice.');
    for (const field of fields) {
      const { columns, relations, hidden } = queryClass;
      if (columns.has(field) || relations.has(field) || hidden.has(field))
        throw refused(`${field} is not a custom field of ${className}. Only custom fields can be indexed.`);
    }
    // Rejects every name with a special meaning in SQL, independent of earlier checks.
    fieldIndexDefinition({ fields }, appId, queryClass);
  }
}

function refused(message: string) {
  return appError('INVALID_QUERY', { message });
}

export function fieldIndexesRpcController(contract: FieldIndexesRpc): Type {
  @Controller()
  class FieldIndexesController {
    constructor(
      private readonly indexes: FieldIndexes,
      private readonly questions: SlowQueries,
    ) {}

    @RpcHandler(contract.add)
    async add(key: Data<'add'>): Reply<'add'> {
      await this.indexes.add(key);
      return {};
    }

    @RpcHandler(contract.list)
    async list({ appId }: Data<'list'>): Reply<'list'> {
      return { indexes: await this.indexes.report(appId) };
    }

    @RpcHandler(contract.remove)
    async remove(key: Data<'remove'>): Reply<'remove'> {
      await this.indexes.remove(key);
      return {};
    }

    @RpcHandler(contract.listSlowQueries)
    async listSlowQueries({ appId }: Data<'listSlowQueries'>): Reply<'listSlowQueries'> {
      const [questions, indexes] = [await this.questions.report(appId), await this.indexes.report(appId)];
      const names = new Set(indexes.map(({ className, fields }) => [className, ...fields].join(' ')));
      return {
        questions: questions.map((question) => ({
          ...question,
          isIndexed: names.has([question.className, ...question.fields].join(' ')),
        })),
      };
    }
  }
  return FieldIndexesController;
}

/** Processes may still use an index that is removed: their cache is up to 1 s old, and a query takes up to 3 s. */
const IN_USE_MS = 5_000;
/** Builds have no tight limit, because large tables take long. */
const LONGEST_STATEMENT_MS = 24 * 60 * 60 * 1_000;
/** An arbitrary key: one builder of a database works at a time. */
const BUILDER_LOCK = 7_236_402;
const LONGEST_REASON = 300;

/** Every process of a service has a builder; one works at a time. The next builder drops and restarts an unfinished build. */
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
      keepsIdle: true,
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
    // The clock of the database may be ahead: no longer wait than for a removal that was asked for just now.
    const restMs = index.changedAt.getTime() + IN_USE_MS - Date.now();
    await sleep(Math.min(Math.max(0, restMs), IN_USE_MS), undefined, { signal: this.#stopping.signal });
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

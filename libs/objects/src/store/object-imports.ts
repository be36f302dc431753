import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Controller, type Type } from '@nestjs/common';
import type { ImportObjectsReply, ImportObjectsRequest, ObjectImportRpc, RpcData, RpcReply } from '#contracts';
import type { Database, Queryable } from '#database';
import { RpcHandler } from '#messaging';
import { plainImport } from './import-judgement.js';
import { ObjectImporter } from './object-importer.js';
import type { StoredClasses } from './stored-classes.js';

/** Rows of a table after which its statistics are renewed for the first time. */
const FIRST_ROWS = 100;
/** How much a table grows until its statistics are renewed again. */
const GROWTH = 4;

/**
 * Renews PostgreSQL's statistics of the tables that an import fills. A connection keeps the plans of its foreign keys: those that it has made
 * for an empty table read all rows of the application for each new one, until the statistics change. Autovacuum takes a minute to do it.
 */
class ImportStatistics {
  /** By table. */
  readonly #rows = new Map<string, { written: number; next: number }>();

  constructor(private readonly database: Queryable) {}

  /** Notes that rows were written. A failure to renew the statistics costs time only. */
  async add(tables: readonly string[], written: number): Promise<void> {
    for (const table of tables) {
      const rows = this.#rows.get(table) ?? { written: 0, next: FIRST_ROWS };
      this.#rows.set(table, rows);
      rows.written += written;
      if (rows.written < rows.next) continue;
      rows.next = rows.written * GROWTH;
      await this.database.query(`ANALYZE (SKIP_LOCKED) ${table}`).catch(() => undefined);
    }
  }
}

/** By what garbage may exceed the live memory while an import runs, in percent. */
const GROWING_PERCENT = 50;
/** V8 decides. */
const DEFAULT_PERCENT = 0;
/** Longer than a batch may take. */
const IDLE_MS = 30_000;

/**
 * Keeps garbage small while imports run in this process. By default V8 lets the memory grow to about four times the live memory before it collects
 * garbage, which a fast import reaches within seconds. Always on, it would slow down the changes of users.
 */
export class ImportHeap {
  #timer: NodeJS.Timeout | undefined;

  /** @param setFlag changes a flag of V8 */
  constructor(private readonly setFlag: (flag: string) => void = setFlagsFromString) {}

  /** An import is running. */
  touch(): void {
    if (this.#timer !== undefined) {
      this.#timer.refresh();
      return;
    }
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#setGrowth(DEFAULT_PERCENT);
    }, IDLE_MS).unref();
    this.#setGrowth(GROWING_PERCENT);
    this.#collectGarbage();
  }

  #setGrowth(percent: number): void {
    this.setFlag(`--heap-growing-percent=${percent}`);
  }

  /** V8 computes the size at which it collects garbage when it does so: the one from before the import could be several times the live memory. */
  #collectGarbage(): void {
    this.setFlag('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    this.setFlag('--no-expose-gc');
    collect();
  }
}

/** That of the process. */
const importHeap = new ImportHeap();

/** Objects of one transaction. With 500, logins beside the import took 1.9 times as long instead of 1.4 times. */
const PART_SIZE = 100;
/** Maximum number of batches that a later one can name: clients send the next one before the reply. */
const MAX_KNOWN_BATCHES = 100;
const NOT_DONE: ImportObjectsReply = { verdicts: [], released: [], isDone: false };

/** The importers of a service's classes. */
export class ObjectImports {
  private readonly statistics: ImportStatistics;
  /** Application and class of imports whose last batch was stored before: the next one probably was, too. */
  private readonly repeated = new Set<string>();
  /** By id, the latest batches: resolve to whether they succeeded. */
  private readonly batches = new Map<string, Promise<boolean>>();

  constructor(
    private readonly classes: StoredClasses,
    private readonly database: Database,
    private readonly limitBytes: number,
    private readonly partSize = PART_SIZE,
  ) {
    this.statistics = new ImportStatistics(database);
  }

  /** @throws AppError NOT_FOUND for a class that this service does not store; as `ObjectImporter.import` */
  import(request: ImportObjectsRequest): Promise<ImportObjectsReply> {
    const reply = this.importAfter(request);
    if (request.batchId !== undefined) this.remember(request.batchId, reply);
    return reply;
  }

  private remember(batchId: string, reply: Promise<ImportObjectsReply>): void {
    const [oldest] = this.batches.keys();
    if (oldest !== undefined && this.batches.size >= MAX_KNOWN_BATCHES) this.batches.delete(oldest);
    const outcome = reply.then(
      ({ isDone }) => isDone,
      () => false,
    );
    this.batches.set(batchId, outcome);
  }

  private async importAfter({ after, ...request }: ImportObjectsRequest): Promise<ImportObjectsReply> {
    if (after !== undefined && !(await this.batches.get(after))) return NOT_DONE;
    const { className } = request;
    const { objects, imports } = this.classes.of(className);
    const { database, limitBytes, partSize } = this;
    const rules = imports ?? plainImport(className, objects);
    importHeap.touch();
    const parts = { className, objects, database, limitBytes, partSize, rules };
    const key = `${request.appId} ${className}`;
    const importer = new ObjectImporter(parts, request, !this.repeated.has(key));
    const reply = await importer.import(request);
    if (importer.hasMetStored) this.repeated.add(key);
    else this.repeated.delete(key);
    if (!request.isPreview) await this.statistics.add([objects.table, ...(rules.tables ?? [])], writtenIn(reply));
    return reply;
  }
}

function writtenIn({ verdicts }: ImportObjectsReply): number {
  return verdicts.filter(({ outcome }) => outcome === 'imported' || outcome === 'imported_without').length;
}

/** A controller that imports the objects of one service. */
export function objectImportController(contract: ObjectImportRpc): Type {
  @Controller()
  class ObjectImportController {
    constructor(private readonly imports: ObjectImports) {}

    @RpcHandler(contract.importObjects)
    importObjects(
      request: RpcData<ObjectImportRpc['importObjects']>,
    ): Promise<RpcReply<ObjectImportRpc['importObjects']>> {
      return this.imports.import(request);
    }
  }
  return ObjectImportController;
}

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Controller, type Type } from '@nestjs/common';
import type { ImportObjectsReply, ImportObjectsRequest, ObjectImportRpc, RpcData, RpcReply } from '#contracts';
import type { Database } from '#database';
import { RpcHandler } from '#messaging';
import { plainImport } from './import-decisions.js';
import { ObjectImporter } from './object-importer.js';
import type { StoredClasses } from './stored-classes.js';

/** The statistics of a table are renewed after this number of rows, and then each time that it has grown by the factor. */
const FIRST_ROWS = 100;
const GROWTH = 4;

/** By what garbage may exceed the live memory while an import runs, in percent. */
const GROWING_PERCENT = 50;
const DEFAULT_PERCENT = 0;
/** Longer than a batch may take. */
const IDLE_MS = 30_000;

/** Keeps garbage small while imports run: by default V8 lets memory grow to four times the live one. Always on, it slows down users (ADR 33). */
export class ImportHeap {
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly setFlag: (flag: string) => void = setFlagsFromString) {}

  touch(): void {
    if (this.#timer !== undefined) {
      this.#timer.refresh();
      return;
    }
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.setFlag(`--heap-growing-percent=${DEFAULT_PERCENT}`);
    }, IDLE_MS).unref();
    this.setFlag(`--heap-growing-percent=${GROWING_PERCENT}`);
    this.#collectGarbage();
  }

  /** V8 computes the size at which it collects garbage when it does so: the one from before the import could be several times the live memory. */
  #collectGarbage(): void {
    this.setFlag('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    this.setFlag('--no-expose-gc');
    collect();
  }
}

const importHeap = new ImportHeap();

/** Objects of one transaction. With 500, logins beside the import took 1.9 times as long instead of 1.4 times. */
const PART_SIZE = 100;
/** Maximum number of batches that a later one can name: clients send the next one before the reply. */
const MAX_KNOWN_BATCHES = 100;
const NOT_DONE: ImportObjectsReply = { verdicts: [], released: [], isDone: false };

export class ObjectImports {
  /** Application and class of imports whose last batch was stored before: the next one probably was, too. */
  readonly #repeated = new Set<string>();
  /** By id, the latest batches: resolve to whether they succeeded. */
  readonly #batches = new Map<string, Promise<boolean>>();
  readonly #rows = new Map<string, { written: number; next: number }>();

  constructor(
    private readonly classes: StoredClasses,
    private readonly database: Database,
    private readonly limitBytes: number,
    private readonly partSize = PART_SIZE,
  ) {}

  import(request: ImportObjectsRequest): Promise<ImportObjectsReply> {
    const reply = this.#importAfter(request);
    if (request.batchId !== undefined) this.#remember(request.batchId, reply);
    return reply;
  }

  #remember(batchId: string, reply: Promise<ImportObjectsReply>): void {
    const [oldest] = this.#batches.keys();
    if (oldest !== undefined && this.#batches.size >= MAX_KNOWN_BATCHES) this.#batches.delete(oldest);
    const outcome = reply.then(
      ({ isDone }) => isDone,
      () => false,
    );
    this.#batches.set(batchId, outcome);
  }

  async #importAfter({ after, ...request }: ImportObjectsRequest): Promise<ImportObjectsReply> {
    if (after !== undefined && !(await this.#batches.get(after))) return NOT_DONE;
    const { className } = request;
    const { objects, imports } = this.classes.of(className);
    const { database, limitBytes, partSize } = this;
    const rules = imports ?? plainImport(className, objects);
    importHeap.touch();
    const parts = { className, objects, database, limitBytes, partSize, rules };
    const key = `${request.appId} ${className}`;
    const importer = new ObjectImporter(parts, request, !this.#repeated.has(key));
    const reply = await importer.import(request);
    if (importer.hasFoundStored) this.#repeated.add(key);
    else this.#repeated.delete(key);
    const written = reply.verdicts.filter(({ outcome }) => outcome.startsWith('imported')).length;
    if (!request.isPreview) await this.#renewStatistics([objects.table, ...(rules.tables ?? [])], written);
    return reply;
  }

  /** Until autovacuum renews them, foreign keys keep plans made for the empty table and read all rows. A failure costs time only. */
  async #renewStatistics(tables: readonly string[], written: number): Promise<void> {
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

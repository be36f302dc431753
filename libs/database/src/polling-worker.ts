import type { Logger } from '@nestjs/common';
import { PeriodicJob } from '#bootstrap';
import { FailureLog, type JobName, type Metrics } from '#observability';
import type { Queryable } from './database.js';

/** The longest delay until a worker finds rows of other processes and rows that have become due, in milliseconds. */
const POLL_INTERVAL_MS = 1_000;

interface PollingOptions {
  /** Does the work that is due, and logs its failures. @returns whether more may be due at once */
  readonly round: () => Promise<boolean>;
  /** Shortens the wait after a round that found no more work, which otherwise takes one second. */
  readonly maxWaitMs?: () => number;
}

/** Repeats rounds of work on rows that are due: at once while there is more, else after one second or `wake`. Rounds never overlap. */
export class PollingWorker {
  readonly #options: PollingOptions;
  #isStopping = false;
  #isAwake = false;
  #endWait: (() => void) | undefined;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: PollingOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.wake();
    await this.#loop;
  }

  /** Call it when rows may have become due: it ends the wait, or omits the next one. */
  wake(): void {
    this.#isAwake = true;
    this.#endWait?.();
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) if (!(await this.#options.round())) await this.#wait();
  }

  async #wait(): Promise<void> {
    if (!this.#isAwake) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(POLL_INTERVAL_MS, this.#options.maxWaitMs?.() ?? Infinity));
        this.#endWait = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isAwake = false;
    this.#endWait = undefined;
  }
}

interface ClaimOptions<Item> {
  /** How many items may be in progress now, those that already are included. */
  readonly slots: () => number;
  /** Claims up to `limit` due items under a lease. @returns the items, and whether more may be due */
  readonly claim: (limit: number) => Promise<{ readonly items: readonly Item[]; readonly isMoreDue: boolean }>;
  /** Works on one item outside any transaction; it must not reject. */
  readonly work: (item: Item) => Promise<void>;
  readonly maxWaitMs?: PollingOptions['maxWaitMs'];
  readonly logger: Logger;
  readonly claiming: string;
}

/** Claims rows and works on them concurrently. It claims only as many as it can start at once, so that other processes get the rest. */
export class ClaimingWorker<Item> {
  readonly #options: ClaimOptions<Item>;
  readonly #polling: PollingWorker;
  readonly #failures: FailureLog;
  readonly #running = new Set<Promise<void>>();
  #isMoreDue = false;

  constructor(options: ClaimOptions<Item>) {
    this.#options = options;
    this.#failures = new FailureLog(options.logger, options.claiming);
    this.#polling = new PollingWorker({
      round: () => this.#round(),
      maxWaitMs: () => options.maxWaitMs?.() ?? Infinity,
    });
  }

  start(): void {
    this.#polling.start();
  }

  wake(): void {
    this.#polling.wake();
  }

  isFull(): boolean {
    return this.#running.size >= this.#options.slots();
  }

  stopClaiming(): Promise<void> {
    return this.#polling.stop();
  }

  /** Resolves when no item is in progress. Call it after `stopClaiming`. */
  async finished(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** @returns false without a free slot: the end of an item wakes the worker */
  async #round(): Promise<boolean> {
    const free = Math.max(0, this.#options.slots() - this.#running.size);
    this.#isMoreDue = free === 0 || (await this.#begin(free));
    return free > 0 && this.#isMoreDue;
  }

  async #begin(limit: number): Promise<boolean> {
    try {
      const { items, isMoreDue } = await this.#options.claim(limit);
      this.#failures.succeeded();
      for (const item of items) this.#track(item);
      return isMoreDue;
    } catch (error) {
      this.#failures.failed(error);
      return false;
    }
  }

  #track(item: Item): void {
    const run = this.#options.work(item).finally(() => {
      this.#running.delete(run);
      if (this.#isMoreDue) this.wake();
    });
    this.#running.add(run);
  }
}

/** Few enough that requests do not wait long for the locks of a batch. */
const BATCH_SIZE = 500;

/** Rows of a table that are no longer needed; names and conditions come from the code. */
interface UnneededRows {
  readonly table: string;
  readonly where: string;
  readonly orderBy?: string;
  readonly values?: readonly unknown[];
  /** The SQL of a change to the rows; default: they are deleted. */
  readonly set?: string;
  /** Rows at most; default: 500. */
  readonly limit?: number;
  /** Gets the values of a column of the rows. */
  readonly counted?: { readonly column: string; readonly count: (values: readonly string[]) => void };
}

/** Deletes or changes one batch of rows, without those that other transactions have locked. @returns whether more may be left */
export async function cleanUp(database: Queryable, rows: UnneededRows): Promise<boolean> {
  const { table, where, orderBy, values, set, limit = BATCH_SIZE, counted } = rows;
  const order = orderBy === undefined ? '' : `ORDER BY ${orderBy}`;
  const changed = await database.query<{ value: string }>(
    `${set === undefined ? `DELETE FROM ${table}` : `UPDATE ${table} SET ${set}`} WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM ${table} WHERE ${where} ${order} LIMIT ${limit} FOR UPDATE SKIP LOCKED)) RETURNING ${counted?.column ?? `''`} AS value`,
    values,
  );
  counted?.count(changed.map(({ value }) => value));
  return changed.length === limit;
}

interface CleanupOptions {
  readonly name: JobName;
  readonly intervalMs: number;
  readonly metrics: Metrics;
  readonly database: Queryable;
  readonly unneeded: readonly UnneededRows[];
}

/** Cleans up tables in batches. A table whose statement fails does not keep the rows of the others. */
export class CleanupJob extends PeriodicJob {
  readonly #database: Queryable;
  readonly #unneeded: readonly UnneededRows[];

  constructor({ database, unneeded, ...job }: CleanupOptions) {
    super(job);
    this.#database = database;
    this.#unneeded = unneeded;
  }

  /** @throws what the first failed statement has thrown, once no other has rows left */
  async processBatch(): Promise<boolean> {
    const results: PromiseSettledResult<boolean>[] = [];
    for (const rows of this.#unneeded) results.push(...(await Promise.allSettled([cleanUp(this.#database, rows)])));
    if (results.some((result) => result.status === 'fulfilled' && result.value)) return true;
    const failed = results.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
    return false;
  }
}

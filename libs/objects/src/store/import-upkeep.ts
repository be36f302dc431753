import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Queryable } from '#database';

/** Rows of a table after which its statistics are renewed for the first time. */
const FIRST_ROWS = 100;
/** How much a table grows until its statistics are renewed again. */
const GROWTH = 4;

/**
 * Renews PostgreSQL's statistics of the tables that an import fills. A connection keeps the plans of its foreign keys: those that it has made
 * for an empty table read all rows of the application for each new one, until the statistics change. Autovacuum takes a minute to do it.
 */
export class ImportStatistics {
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
export const importHeap = new ImportHeap();

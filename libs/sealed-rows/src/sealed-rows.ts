import type { Database, Tx } from '#database';
import { appError } from '#errors';
import type { Sealer } from '#sealing';
import type { SealedRow, SealedTable } from './sealed-table.js';
import { lockSql, pageSql, updateSql } from './sealed-table.sql.js';

/** Rows that are only counted. */
const COUNTED_AT_ONCE = 5_000;
/** Rows that may have to be sealed anew, and so are locked together: some milliseconds. */
const RESEALED_AT_ONCE = 200;

type PageRow = Readonly<Record<string, string | null>>;

/** What a process seals with, and what it holds that is sealed. */
interface SealingState {
  /** Of this process. */
  readonly instance: string;
  readonly keyId: string;
  readonly acceptedKeyIds: string[];
  readonly tables: string[];
}

interface WalkRequest {
  readonly table: string;
  /** The key of the last row of the page before; null for the first page. */
  readonly after: readonly string[] | null;
  /** The key that the process must seal with. */
  readonly keyId: string;
  /** Whether what accepted secrets have sealed is sealed anew. */
  readonly reseal: boolean;
}

interface WalkPage {
  /** Values of the page by the id of the key that had sealed them. */
  readonly counts: Record<string, number>;
  readonly resealed: number;
  /** For the next page; null after the last one. */
  readonly next: string[] | null;
}

/** Walks through the sealed values of a service, page by page. */
export class SealedRows {
  readonly #tables: ReadonlyMap<string, SealedTable>;

  /** @param instance tells this process from others of its service */
  constructor(
    private readonly database: Database,
    private readonly sealer: Sealer,
    tables: readonly SealedTable[],
    private readonly instance: string,
  ) {
    this.#tables = new Map(tables.map((table) => [table.name, table]));
  }

  describe(): SealingState {
    const { keyId, acceptedKeyIds } = this.sealer;
    return { instance: this.instance, keyId, acceptedKeyIds, tables: [...this.#tables.keys()] };
  }

  /**
   * @throws AppError NO_EFFECT where this process seals with another key: its secrets are not those of the process that was asked before;
   * NOT_FOUND where there is no such table
   */
  async walk({ table: name, after, keyId, reseal }: WalkRequest): Promise<WalkPage> {
    const table = this.#tables.get(name);
    if (table === undefined) throw appError('NOT_FOUND', { message: `Nothing called "${name}" is sealed.` });
    this.#assertSealsWith(keyId);
    const limit = reseal ? RESEALED_AT_ONCE : COUNTED_AT_ONCE;
    const sql = pageSql(table, after === null);
    const rows = await this.database.query<PageRow>(sql, [limit, ...(after ?? [])]);
    const last = rows.length < limit ? undefined : rows.at(-1);
    return {
      counts: countsOf(table, rows),
      resealed: reseal ? await this.#reseal(table, rows) : 0,
      next: last === undefined ? null : keyOf(table, last),
    };
  }

  #assertSealsWith(keyId: string): void {
    if (keyId === this.sealer.keyId) return;
    throw appError('NO_EFFECT', {
      message: `Processes seal with different secrets (${keyId} and ${this.sealer.keyId}): give all of them the same GATEPOST_SECRET first.`,
    });
  }

  async #reseal(table: SealedTable, page: readonly PageRow[]): Promise<number> {
    const accepted = new Set<unknown>(this.sealer.acceptedKeyIds);
    const outdated = page.filter((row) => table.values.some((_, index) => accepted.has(row[`v${index}`])));
    if (outdated.length === 0) return 0;
    return this.database.transaction(async (tx) => {
      const rows = await tx.query<PageRow>(lockSql(table), [JSON.stringify(outdated)]);
      return this.#write(tx, table, rows);
    });
  }

  async #write(tx: Tx, table: SealedTable, rows: readonly PageRow[]): Promise<number> {
    const changes = rows.map((row) => ({ row, texts: this.#resealed(table, row) }));
    const wanted = changes.map(({ row, texts }) => ({ ...namedKey(table, row), ...texts }));
    await tx.query(updateSql(table), [JSON.stringify(wanted)]);
    return changes.flatMap(({ texts }) => Object.keys(texts).filter((name) => name.startsWith('s'))).length;
  }

  /** New texts and hashes of a row's outdated values. */
  #resealed(table: SealedTable, row: PageRow): Record<string, string> {
    const texts: Record<string, string> = {};
    for (const [index, { context, hashColumn }] of table.values.entries()) {
      const sealed = row[`v${index}`] ?? '';
      const plain = this.sealer.isOutdated(sealed) ? this.#opened(sealed, context(row as SealedRow)) : undefined;
      if (plain === undefined) continue;
      texts[`s${index}`] = this.sealer.seal(plain, context(row as SealedRow));
      if (hashColumn !== undefined) texts[`h${index}`] = this.sealer.lookupHash(plain).toString('hex');
    }
    return texts;
  }

  /** One value that was tampered with must not keep the others from being sealed anew; it stays, and is counted. */
  #opened(sealed: string, context: string): string | undefined {
    try {
      return this.sealer.open(sealed, context);
    } catch {
      return undefined;
    }
  }
}

function countsOf({ values }: SealedTable, rows: readonly PageRow[]): Record<string, number> {
  const counts: Record<string, number> = {};
  const keyIds = rows.flatMap((row) => values.map((_, index) => row[`v${index}`] ?? ''));
  for (const keyId of keyIds.filter((one) => one !== '')) counts[keyId] = (counts[keyId] ?? 0) + 1;
  return counts;
}

function keyOf({ key }: SealedTable, row: PageRow): string[] {
  return Object.keys(key).map((_, index) => row[`k${index}`] ?? '');
}

function namedKey({ key }: SealedTable, row: PageRow): Record<string, string> {
  return Object.fromEntries(Object.keys(key).map((column, index) => [`k${index}`, row[column] ?? '']));
}

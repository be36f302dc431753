import { Controller, Inject, type Type } from '@nestjs/common';
import type { RpcData, RpcReply, SealingRpc } from '#contracts';
import type { Database, Tx } from '#database';
import { appError } from '#errors';
import { RpcHandler } from '#messaging';
import { ProcessInfo } from '#observability';
import { Sealer } from './sealer.js';

type DescribeReply = RpcReply<SealingRpc['describe']>;
type WalkRequest = RpcData<SealingRpc['walk']>;
type WalkReply = RpcReply<SealingRpc['walk']>;

/** The columns of a row that a seal's context can use: its key, and the columns of `also`. */
type SealedRow = Readonly<Record<string, string>>;

interface SealedValue {
  readonly sql: string;
  readonly context: (row: SealedRow) => string;
  /** The column of the text, unless `set` is given. */
  readonly column: string;
  /** Maps the SQL of the new text to the SQL of the column's new value. Default: the text itself. */
  readonly set?: (sealed: string) => string;
  readonly hashColumn?: string;
  /** Follows `hashColumn` where both have one value. */
  readonly equalHashColumn?: string;
}

/** A table with sealed values. All names and SQL come from the code, never from input. */
export interface SealedTable {
  readonly name: string;
  readonly table: string;
  /** Columns of the primary key, with their types. */
  readonly key: Readonly<Record<string, string>>;
  readonly also?: Readonly<Record<string, string>>;
  readonly values: readonly SealedValue[];
}

/** Names of a statement: key columns `k0`…, values `v0`…, new texts `s0`…, new lookup hashes `h0`…. */
const named = (prefix: string, list: readonly string[]) => list.map((sql, index) => `${sql} AS ${prefix}${index}`);
const columnsOf = ({ key }: SealedTable) => Object.keys(key).map((column) => `t.${column}`);
const keyTypes = ({ key }: SealedTable) => Object.values(key).map((type, index) => `k${index} ${type}`);
const isWanted = (table: SealedTable) =>
  columnsOf(table)
    .map((column, index) => `${column} = wanted.k${index}`)
    .join(' AND ');

/** Parameters: the limit, then the key of the previous page's last row. */
function pageSql(table: SealedTable, isFirst: boolean): string {
  const columns = columnsOf(table);
  const after = Object.values(table.key).map((type, index) => `$${index + 2}::${type}`);
  return `
    SELECT ${named(
      'k',
      columns.map((column) => `${column}::text`),
    ).join(', ')}, ${named(
      'v',
      table.values.map(({ sql }) => `split_part(${sql}, '.', 2)`),
    ).join(', ')}
      FROM ${table.table} AS t ${isFirst ? '' : `WHERE (${columns.join(', ')}) > (${after.join(', ')})`}
     ORDER BY ${columns.join(', ')} LIMIT $1`;
}

/** Locks the rows whose keys are in a JSON array; skips rows that another transaction has locked. */
function lockSql(table: SealedTable): string {
  const also = Object.entries(table.also ?? {}).map(([name, sql]) => `${sql} AS "${name}"`);
  const keys = Object.keys(table.key).map((column) => `t.${column}::text AS "${column}"`);
  const values = named(
    'v',
    table.values.map(({ sql }) => sql),
  );
  return `
    SELECT ${[...keys, ...also, ...values].join(', ')}
      FROM ${table.table} AS t JOIN jsonb_to_recordset($1::jsonb) AS wanted (${keyTypes(table).join(', ')}) ON ${isWanted(table)}
       FOR UPDATE OF t SKIP LOCKED`;
}

function newHash(column: string, index: number): string {
  return `COALESCE(decode(wanted.h${index}, 'hex'), t.${column})`;
}

/** Writes the new texts and hashes of a JSON array. Absent members keep the value of their column. */
function updateSql(table: SealedTable): string {
  const assignments = table.values.flatMap(({ column, set, hashColumn, equalHashColumn }, index) => [
    `${column} = CASE WHEN wanted.s${index} IS NULL THEN t.${column} ELSE ${set?.(`wanted.s${index}`) ?? `wanted.s${index}`} END`,
    ...(hashColumn === undefined ? [] : [`${hashColumn} = ${newHash(hashColumn, index)}`]),
    ...(equalHashColumn === undefined
      ? []
      : [
          `${equalHashColumn} = CASE t.${hashColumn} WHEN t.${equalHashColumn} THEN ${newHash(equalHashColumn, index)} ELSE t.${equalHashColumn} END`,
        ]),
  ]);
  const texts = table.values.flatMap((_, index) => [`s${index} text`, `h${index} text`]);
  return `
    UPDATE ${table.table} AS t SET ${assignments.join(', ')}
      FROM jsonb_to_recordset($1::jsonb) AS wanted (${[...keyTypes(table), ...texts].join(', ')})
     WHERE ${isWanted(table)}`;
}

const COUNT_PAGE_SIZE = 5_000;
/** Rows of a page that may be resealed. They are locked together, for some milliseconds. */
const RESEAL_PAGE_SIZE = 200;

type PageRow = Readonly<Record<string, string | null>>;

interface SealingHandlers {
  describe(request: RpcData<SealingRpc['describe']>): Promise<DescribeReply>;
  /** @throws AppError NO_EFFECT where this process seals with another key than `keyId`; NOT_FOUND where the table is unknown */
  walk(request: WalkRequest): Promise<WalkReply>;
}

/** The module that declares it provides the `Sealer`. `tables`: every table of the service with sealed values. */
export function sealingController(
  rpc: SealingRpc,
  database: typeof Database,
  tables: readonly SealedTable[],
): Type<SealingHandlers> {
  @Controller()
  class SealingController implements SealingHandlers {
    readonly #rows: SealedRows;

    constructor(
      @Inject(database) ownDatabase: Database,
      private readonly sealer: Sealer,
      private readonly process: ProcessInfo,
    ) {
      this.#rows = new SealedRows(ownDatabase, sealer);
      process.setting('secretWeakness', () => sealer.weakness);
    }

    @RpcHandler(rpc.describe)
    describe(_: RpcData<SealingRpc['describe']>): Promise<DescribeReply> {
      const { keyId, acceptedKeyIds } = this.sealer;
      const names = tables.map(({ name }) => name);
      return Promise.resolve({ instance: this.process.instance, keyId, acceptedKeyIds, tables: names });
    }

    @RpcHandler(rpc.walk)
    async walk({ table: name, ...request }: WalkRequest): Promise<WalkReply> {
      const table = tables.find((one) => one.name === name);
      if (table === undefined) throw appError('NOT_FOUND', { message: `No sealed table has the name "${name}".` });
      return this.#rows.walk(table, request);
    }
  }
  return SealingController;
}

class SealedRows {
  constructor(
    private readonly database: Database,
    private readonly sealer: Sealer,
  ) {}

  async walk(table: SealedTable, { after, keyId, reseal }: Omit<WalkRequest, 'table'>): Promise<WalkReply> {
    this.#assertSealsWith(keyId);
    const limit = reseal ? RESEAL_PAGE_SIZE : COUNT_PAGE_SIZE;
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
      message: `Processes seal with different secrets (${keyId} and ${this.sealer.keyId}). Give all of them the same GATEPOST_SECRET first.`,
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

  /** A value that does not open, for example because it was tampered with, must not block the others: it stays as it is, and is counted. */
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

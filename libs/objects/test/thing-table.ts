import { escapeLiteral } from 'pg';
import { Database } from '#database';
import { newDatabase } from '#testing';
import {
  compileCondition,
  compileCount,
  compileFind,
  parseOrder,
  parseWhere,
  type QueryClass,
  type QueryScope,
} from '../src/index.js';
import { type FieldIndex, fieldIndexDefinition } from '../src/query/field-index.js';

/** A row of a test's own tables. */
export interface Thing {
  readonly id: string;
  readonly name?: string;
  readonly nickname?: string | null;
  readonly isOpen?: boolean | null;
  readonly createdAt?: string;
  readonly acl?: object | null;
  readonly fields?: object;
}

interface FindOptions {
  readonly order?: string;
  readonly limit?: number;
  readonly skip?: number;
  readonly scope?: Partial<QueryScope>;
  readonly indexes?: readonly FieldIndex[];
}

const thingClass: QueryClass = {
  className: 'Thing',
  table: 'things',
  columns: new Map([
    ['objectId', { sql: 'id', type: 'text' }],
    ['name', { sql: 'name', type: 'text' }],
    ['nickname', { sql: 'nickname', type: 'text', isNullable: true }],
    ['isOpen', { sql: 'is_open', type: 'boolean', isNullable: true }],
    ['createdAt', { sql: 'created_at', type: 'date' }],
  ]),
  relations: new Map(),
  hidden: new Set(['secret', 'ACL']),
  appColumn: 'app',
  idColumn: 'id',
  jsonColumn: 'fields',
  aclColumn: 'acl',
  defaultOrderColumn: 'created_at',
};

const shelfClass: QueryClass = {
  ...thingClass,
  className: 'Shelf',
  table: 'shelves',
  hidden: new Set(['key']),
  relations: new Map([
    [
      'things',
      {
        className: 'Thing',
        table: 'shelf_things',
        appColumn: 'app',
        ownerColumn: 'shelf_id',
        memberColumn: 'thing_id',
      },
    ],
  ]),
};

const CLASSES = new Map([thingClass, shelfClass].map((each) => [each.className, each]));

const TABLES = `
  CREATE TABLE things (app text, id text, name text, nickname text, is_open boolean, created_at timestamptz(3), acl jsonb, fields jsonb NOT NULL);
  CREATE TABLE shelves (LIKE things);
  CREATE TABLE shelf_things (app text, shelf_id text, thing_id text);
  CREATE INDEX things_fields_idx ON things USING gin (fields jsonb_path_ops);`;

/** Two classes in a separate database, Thing and Shelf; the relation `things` of a shelf contains things. */
export class ThingTable {
  private constructor(
    readonly database: Database,
    private readonly options: { url: string; schema: string; migrations: [] },
  ) {}

  /** @param url of an empty database; default: a new one */
  static async create(url?: string): Promise<ThingTable> {
    const options = { url: url ?? (await newDatabase()), schema: 'public', migrations: [] as [] };
    const database = new Database({ ...options, poolSize: 4, applicationName: 'test' });
    for (const statement of TABLES.split(';')) await database.query(statement);
    return new ThingTable(database, options);
  }

  close(): Promise<void> {
    return this.database.close();
  }

  async add(things: readonly Thing[], table = 'things', app = 'app'): Promise<void> {
    for (const [index, thing] of things.entries()) {
      const createdAt = thing.createdAt ?? `2026-01-01T00:00:0${index}.000Z`;
      await this.database.query(`INSERT INTO ${table} VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, [
        app,
        thing.id,
        thing.name ?? thing.id,
        thing.nickname,
        thing.isOpen,
        createdAt,
        thing.acl,
        JSON.stringify(thing.fields ?? {}),
      ]);
    }
  }

  async relate(shelfId: string, thingIds: readonly string[]): Promise<void> {
    for (const id of thingIds)
      await this.database.query('INSERT INTO shelf_things VALUES ($1, $2, $3)', ['app', shelfId, id]);
  }

  /** Returns the ids in the order of the query. */
  async find(
    where: unknown,
    { order, limit, skip, scope, indexes }: FindOptions = {},
    className = 'Thing',
  ): Promise<string[]> {
    const queryClass = classOf(className);
    const query = { where: parseWhere(where), order: parseOrder(order), limit, skip };
    const compiled = compileFind(query, queryClass, scopeOf(scope), indexes);
    const rows = await this.database.query<{ id: string }>(
      `SELECT id FROM ${compiled.from} WHERE ${compiled.where} ORDER BY ${compiled.orderBy} ${compiled.limit}`,
      compiled.parameters,
    );
    return rows.map(({ id }) => id);
  }

  /** Creates an index as an operator would. */
  async index(index: FieldIndex, app = 'app'): Promise<void> {
    await this.database.query(`CREATE INDEX ON things ${fieldIndexDefinition(index, app, thingClass)}`);
  }

  async count(where: unknown, scope?: Partial<QueryScope>, indexes?: readonly FieldIndex[]): Promise<number> {
    const { from, sql, parameters } = compileCount(parseWhere(where), thingClass, scopeOf(scope), indexes);
    const [row] = await this.database.query<{ count: string }>(`SELECT count(*) FROM ${from} WHERE ${sql}`, parameters);
    return Number(row?.count);
  }

  /** Runs a query with a generic plan, as connections do that serve indexes of custom fields. @returns the rows that its scans read */
  async rowsRead(where: unknown, { order, limit, scope, indexes }: FindOptions = {}): Promise<number> {
    const query = { where: parseWhere(where), order: parseOrder(order), limit };
    const compiled = compileFind(query, thingClass, scopeOf(scope), indexes);
    const generic = new Database({ ...this.options, poolSize: 1, applicationName: 'test', plans: 'once' });
    try {
      return await generic.transaction(async (tx) => {
        await tx.query(
          `PREPARE measured AS SELECT id FROM ${compiled.from} WHERE ${compiled.where} ORDER BY ${compiled.orderBy} ${compiled.limit}`,
        );
        const values = compiled.parameters.map(literalOf).join(', ');
        const [row] = await tx.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
          `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE measured(${values})`,
        );
        return row === undefined ? Number.NaN : rowsOfScans(row['QUERY PLAN'][0].Plan);
      });
    } finally {
      await generic.close();
    }
  }

  async meets(id: string, where: unknown): Promise<boolean> {
    const { sql, parameters } = compileCondition(parseWhere(where), thingClass, scopeOf(), ['app', id]);
    const rows = await this.database.query(`SELECT FROM things WHERE app = $1 AND id = $2 AND ${sql}`, parameters);
    return rows.length > 0;
  }
}

function literalOf(value: unknown): string {
  // Elements of an array are quoted as JSON quotes a text.
  if (Array.isArray(value)) return escapeLiteral(`{${value.map((element) => JSON.stringify(element)).join(',')}}`);
  return escapeLiteral(String(value));
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

function rowsOfScans(node: PlanNode): number {
  const below = (node.Plans ?? []).reduce((sum, child) => sum + rowsOfScans(child), 0);
  if (!node['Node Type'].endsWith('Scan') || node['Node Type'] === 'Subquery Scan') return below;
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return below + (node['Actual Rows'] + removed) * node['Actual Loops'];
}

function classOf(className: string): QueryClass {
  const found = CLASSES.get(className);
  if (found === undefined) throw new Error(`there is no class ${className}`);
  return found;
}

function scopeOf(scope: Partial<QueryScope> = {}): QueryScope {
  return { appId: 'app', grantees: 'master', classOf, ...scope };
}

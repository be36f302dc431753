import type { ImportedObject, JsonObject } from '#contracts';
import {
  columnsOf,
  type Database,
  insertManyStatement,
  insertStatement,
  type Queryable,
  selectList,
  type SqlExecutor,
  type Statement,
  type Tx,
  UNESTIMATED_APP,
  updateManyStatement,
  updateStatement,
  violatedForeignKey,
  violatedUniqueConstraint,
} from '#database';
import { type AppError, appError } from '#errors';
import type { FieldDefinitions, ObjectRow } from '../class-definition.js';
import type { ImportClaim } from '../import-claims.js';
import type { ObjectClass } from '../object-class.js';
import type { RelationChange } from '../operations/change.js';
import type { CompiledCount, CompiledFind } from '../query/compile.js';
import { countRows, listBounded, type ListedTable, lookUp, type QueryDatabase } from './query-database.js';

/** UPDATE, for a removal and for changes of unique values, also waits for transactions that refer to the object by a foreign key. */
type RowLock = 'NO KEY UPDATE' | 'UPDATE';

/** An object and the lock that its write needs. Default: NO KEY UPDATE. */
export interface LockedObject {
  readonly objectId: string;
  readonly rowLock?: RowLock;
}

export interface ObjectEntity {
  appId: string;
  objectId: string;
  acl: unknown;
  fields: unknown;
  createdAt: Date;
  updatedAt: Date;
}

export interface ObjectStorage {
  readonly objectClass: ObjectClass<FieldDefinitions, never>;
  readonly entity: new () => ObjectEntity;
  /** SQL of the texts and bytes, besides custom fields and ACL, that count for the limit of a list. */
  readonly large?: readonly string[];
  /** Properties of the entity that no answer shows. Reads for an answer leave their columns out. */
  readonly internal?: readonly string[];
}

interface Statements {
  readonly table: string;
  readonly columns: string;
  readonly visible: string;
  readonly listed: ListedTable;
  readonly insert: ReturnType<typeof insertStatement<ObjectEntity>>;
  readonly update: ReturnType<typeof updateStatement<ObjectEntity>>;
  readonly insertMany: ReturnType<typeof insertManyStatement<ObjectEntity>>;
  readonly updateMany: ReturnType<typeof updateManyStatement<ObjectEntity>>;
  readonly columnNames: ReadonlyMap<string, string>;
}

/** A class whose columns differ from its row overrides `toColumns` and `toRow`. `Visible` is a row without its internal columns. */
export class ObjectRepository<Row extends ObjectRow = ObjectRow, Visible extends ObjectRow = Row> {
  protected readonly statements: Statements;

  constructor(
    private readonly storage: ObjectStorage,
    protected readonly database: Database,
    private readonly queries: QueryDatabase,
  ) {
    const { entity, objectClass, internal = [], large = [] } = storage;
    const { fields, table } = objectClass.definition;
    const immutable = Object.keys(fields).filter((name) => fields[name]?.isImmutable === true);
    const unchanged = { except: ['createdAt', ...immutable] as (keyof ObjectEntity)[] };
    const visible = selectList(entity, { except: ['appId', ...(internal as (keyof ObjectEntity)[])] });
    const sizes = ['fields::text', 'acl::text', ...large].map((text) => `COALESCE(octet_length(${text}), 0)`);
    this.statements = {
      table,
      columns: selectList(entity, { except: ['appId'] }),
      visible,
      listed: { table, columns: visible, size: sizes.join(' + ') },
      insert: insertStatement(entity, table),
      update: updateStatement(entity, table, unchanged),
      insertMany: insertManyStatement(entity, table),
      updateMany: updateManyStatement(entity, table, unchanged),
      columnNames: new Map(columnsOf(entity).map(({ property, name }) => [property, name])),
    };
  }

  get table(): string {
    return this.statements.table;
  }

  find(appId: string, objectId: string): Promise<Row | undefined> {
    const { table, columns } = this.statements;
    const sql = `SELECT ${columns} FROM ${table} WHERE app_id = $1 AND object_id = $2`;
    return this.first(this.database.lookUp(sql, [appId, objectId], `${table}.find`));
  }

  /** As `find`, for an answer: without internal columns. */
  async findVisible(appId: string, objectId: string): Promise<Visible | undefined> {
    const { table, visible } = this.statements;
    const sql = `SELECT ${visible} FROM ${table} WHERE app_id = $1 AND object_id = $2`;
    const [row] = await this.database.lookUp<object>(sql, [appId, objectId], `${table}.findVisible`);
    return row === undefined ? undefined : this.#toVisible(row);
  }

  /** Queries of clients use connections of their own, unless they look up one object. */
  async list(query: CompiledFind, within?: Queryable): Promise<Visible[]> {
    if (!query.isLookUp) return (await this.listMeasured(query, within)).objects;
    const rows = await lookUp<object>(within ?? this.database.byKey, this.statements.listed, query);
    return rows.map((row) => this.#toVisible(row));
  }

  async listMeasured(
    query: CompiledFind,
    within: Queryable = this.queries.for(query),
  ): Promise<{ objects: Visible[]; bytes: number }> {
    const rows = await listBounded<object>(within, this.statements.listed, query);
    return { objects: rows.map((row) => this.#toVisible(row)), bytes: Number(rows.at(-1)?.bytesSoFar ?? 0) };
  }

  count(query: CompiledCount, within: Queryable = this.queries.for(query)): Promise<number> {
    return countRows(within, query);
  }

  lock(tx: Tx, appId: string, objectId: string, rowLock: RowLock = 'NO KEY UPDATE'): Promise<Row | undefined> {
    const { table, columns } = this.statements;
    const sql = `SELECT ${columns} FROM ${table} WHERE app_id = $1 AND object_id = $2 FOR ${rowLock}`;
    return this.first(tx.query(sql, [appId, objectId], `${table}.lock.${rowLock}`));
  }

  /** In the order of ids, stronger locks second: only transactions that refer to the objects hold it up, and those lock several in the same order. */
  async lockMany(tx: Tx, appId: string, objects: readonly LockedObject[]): Promise<void> {
    const { table } = this.statements;
    const strong = objects.filter(({ rowLock }) => rowLock === 'UPDATE');
    const locks: [RowLock, readonly LockedObject[]][] = [
      ['NO KEY UPDATE', strong.length === objects.length ? [] : objects],
      ['UPDATE', strong],
    ];
    for (const [rowLock, locked] of locks.filter(([, { length }]) => length > 0)) {
      const sql = `SELECT FROM ${table} WHERE app_id = $1 AND object_id = ANY($2) ORDER BY object_id FOR ${rowLock}`;
      await tx.query(sql, [appId, locked.map(({ objectId }) => objectId)]);
    }
  }

  async insert(within: SqlExecutor, appId: string, row: Row): Promise<void> {
    await this.mapUniqueViolation(within.run(this.insertion(appId, row)));
  }

  /** Writes all columns but `createdAt` and those of immutable fields. @throws AppError as `insert` */
  async update(tx: Tx, appId: string, row: Row): Promise<void> {
    const { table, update } = this.statements;
    const values = update.values(this.toColumns(appId, row));
    await this.mapUniqueViolation(tx.run({ name: `${table}.update`, text: update.text, values }));
  }

  insertionOfMany(appId: string, rows: readonly Row[]): Statement {
    const { table, insertMany } = this.statements;
    const values = insertMany.values(rows.map((row) => this.toColumns(appId, row)));
    return { name: `${table}.insertMany`, text: insertMany.text, values };
  }

  /** As `update`, in one statement. A violated unique constraint fails all of them. */
  async updateMany(tx: Tx, appId: string, rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    const { text, values } = this.statements.updateMany;
    await tx.query(text, values(rows.map((row) => this.toColumns(appId, row))));
  }

  /** The whole rows of many ids, with one look-up of the primary key for each. */
  async findEach(within: Queryable, appId: string, objectIds: readonly string[]): Promise<Row[]> {
    const { table, columns } = this.statements;
    const rows = await within.query<object>(
      `SELECT stored.* FROM unnest($2::text[]) AS wanted (id) CROSS JOIN LATERAL (
         SELECT ${columns} FROM ${table} WHERE app_id = ${UNESTIMATED_APP} AND object_id = wanted.id LIMIT 1) AS stored`,
      [appId, objectIds],
      `${table}.findEach`,
    );
    return rows.map((row) => this.toRow(row));
  }

  /** The objects that have the claimed values of built-in fields, by claim. Other claims are skipped. */
  async ownersOf(within: Queryable, appId: string, claims: readonly ImportClaim[]): Promise<[string, string][]> {
    const { table, columnNames } = this.statements;
    const owned = [...new Set(claims.map((claim) => claim.field))].map(async (field) => {
      const column = columnNames.get(field);
      if (column === undefined) return [];
      const keys = claims.filter((claim) => claim.field === field).map(({ key }) => key);
      const rows = await within.query<{ value: string; objectId: string }>(
        `SELECT wanted.value, owner."objectId" FROM unnest($2::text[]) AS wanted (value) CROSS JOIN LATERAL (
           SELECT object_id AS "objectId" FROM ${table} WHERE app_id = ${UNESTIMATED_APP} AND ${column} = wanted.value LIMIT 1) AS owner`,
        [appId, keys.map((key) => key.slice(field.length + 1))],
        `${table}.ownersOf.${column}`,
      );
      return rows.map(({ value, objectId }): [string, string] => [`${field} ${value}`, objectId]);
    });
    return (await Promise.all(owned)).flat();
  }

  columnsOf(row: Row): JsonObject {
    const { fields } = this.storage.objectClass.definition;
    const members = Object.entries(row).filter(([name, value]) => Object.hasOwn(fields, name) && value !== null);
    return Object.fromEntries(members);
  }

  importedRow({ objectId, acl, fields, columns, createdAt, updatedAt }: ImportedObject): Row {
    const row = {
      ...this.storage.objectClass.blankColumns(),
      ...columns,
      objectId,
      acl,
      fields,
      createdAt: new Date(createdAt),
      updatedAt: new Date(updatedAt),
    };
    return row as unknown as Row;
  }

  /** Foreign keys remove the object from relations. */
  async remove(tx: Tx, appId: string, objectIds: readonly string[]): Promise<void> {
    const { table } = this.statements;
    await tx.query(`DELETE FROM ${table} WHERE app_id = $1 AND object_id = ANY ($2)`, [appId, objectIds]);
  }

  async changeMembers(tx: Tx, appId: string, ownerId: string, changes: readonly RelationChange[]): Promise<void> {
    for (const { field, kind, objects } of changes) {
      const relation = this.storage.objectClass.definition.relations?.[field];
      if (relation === undefined) throw new Error(`the relation ${field} is not defined`);
      const { table, ownerColumn, memberColumn } = relation;
      const ids = objects.map(({ objectId }) => objectId);
      // In one order, so that two requests for the same members cannot deadlock.
      const sql =
        kind === 'addRelation'
          ? `INSERT INTO ${table} (app_id, ${ownerColumn}, ${memberColumn})
             SELECT $1, $2, id FROM unnest($3::text[]) AS id ORDER BY id ON CONFLICT DO NOTHING`
          : `DELETE FROM ${table} WHERE app_id = $1 AND ${ownerColumn} = $2 AND ${memberColumn} = ANY ($3)`;
      await mapMissingMember(tx.query(sql, [appId, ownerId, ids]), field);
    }
  }

  protected insertion(appId: string, row: Row): Statement {
    const { table, insert } = this.statements;
    return { name: `${table}.insert`, text: insert.text, values: insert.values(this.toColumns(appId, row)) };
  }

  protected toColumns(appId: string, row: Row): Readonly<Record<keyof ObjectEntity, unknown>> {
    return { appId, ...row };
  }

  protected toRow(columns: object): Row {
    return columns as Row;
  }

  #toVisible(columns: object): Visible {
    return this.toRow(columns) as ObjectRow as Visible;
  }

  protected async first(rows: Promise<object[]>): Promise<Row | undefined> {
    const [row] = await rows;
    return row === undefined ? undefined : this.toRow(row);
  }

  protected uniqueViolation(constraint: string): AppError | undefined {
    return this.storage.objectClass.uniqueViolation(constraint);
  }

  protected async mapUniqueViolation<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      const constraint = violatedUniqueConstraint(error);
      throw (constraint === undefined ? undefined : this.uniqueViolation(constraint)) ?? error;
    }
  }
}

async function mapMissingMember(work: Promise<unknown>, relation: string): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (violatedForeignKey(error) === undefined) throw error;
    throw appError('INVALID_RELATION', { message: `Some of the ${relation} do not exist.` });
  }
}

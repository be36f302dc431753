import { Column, type ColumnOptions, type ColumnType, getMetadataArgsStorage } from 'typeorm';
import { snakeCase } from 'typeorm/util/StringUtils.js';

interface EntityColumn<Property> {
  readonly property: Property;
  readonly name: string;
  readonly type: ColumnType | undefined;
  readonly isPrimary: boolean;
}

interface Selection<Entity> {
  readonly except?: readonly (keyof Entity & string)[];
}

interface RowStatement<Entity> {
  readonly text: string;
  readonly values: (row: Readonly<Record<keyof Entity, unknown>>) => unknown[];
}

type EntityClass<Entity> = new () => Entity;

/** A moment with the precision of a JavaScript `Date`. */
export function TimeColumn(options: Pick<ColumnOptions, 'default' | 'name' | 'nullable'> = {}): PropertyDecorator {
  return Column({ type: 'timestamptz', precision: 3, ...options });
}

/** The columns of a table of credentials, which `SealedCredentials` of libs/security seals and opens. */
export abstract class SealedCredentialColumns {
  @Column('jsonb')
  shown!: Readonly<Record<string, string>>;

  /** The JSON of the fields that are not shown. */
  @Column('text')
  sealedSecrets!: string;

  @TimeColumn({ default: () => 'now()' })
  updatedAt!: Date;
}

/** Reads the columns from the decorators of the entity: call it once, when the process starts. */
export function columnsOf<Entity extends object>(
  entity: EntityClass<Entity>,
  { except = [] }: Selection<Entity> = {},
): EntityColumn<keyof Entity & string>[] {
  const excepted: readonly string[] = except;
  return getMetadataArgsStorage()
    .filterColumns(withBases(entity))
    .filter(({ propertyName }) => !excepted.includes(propertyName))
    .map(({ propertyName, options: { name = snakeCase(propertyName), type, primary = false } }) => ({
      property: propertyName as keyof Entity & string,
      name,
      type,
      isPrimary: primary,
    }));
}

/** The decorators of an inherited column belong to the base class. */
function withBases(entity: EntityClass<object>): EntityClass<object>[] {
  const base = Object.getPrototypeOf(entity) as EntityClass<object>;
  return base === Function.prototype ? [entity] : [entity, ...withBases(base)];
}

/** The list of a SELECT whose rows have the property names of the entity: `username, object_id AS "objectId"`. */
export function selectList<Entity extends object>(
  entity: EntityClass<Entity>,
  { table, except }: Selection<Entity> & { readonly table?: string } = {},
): string {
  const qualifier = table === undefined ? '' : `${table}.`;
  return columnsOf(entity, { except: except ?? [] })
    .map(({ property, name }) => (property === name ? `${qualifier}${name}` : `${qualifier}${name} AS "${property}"`))
    .join(', ');
}

export function insertStatement<Entity extends object>(
  entity: EntityClass<Entity>,
  table: string,
): RowStatement<Entity> {
  const columns = columnsOf(entity);
  const names = columns.map(({ name }) => name).join(', ');
  const parameters = columns.map((_, index) => `$${index + 1}`).join(', ');
  return { text: `INSERT INTO ${table} (${names}) VALUES (${parameters})`, values: valuesOf(columns) };
}

/** Updates the columns of the row with the same primary key, but for the excepted ones. */
export function updateStatement<Entity extends object>(
  entity: EntityClass<Entity>,
  table: string,
  selection: Selection<Entity>,
): RowStatement<Entity> {
  const columns = columnsOf(entity, selection);
  const equations = columns.map(({ name, isPrimary }, index) => ({ text: `${name} = $${index + 1}`, isPrimary }));
  const written = equations.filter(({ isPrimary }) => !isPrimary).map(({ text }) => text);
  const key = equations.filter(({ isPrimary }) => isPrimary).map(({ text }) => text);
  return {
    text: `UPDATE ${table} SET ${written.join(', ')} WHERE ${key.join(' AND ')}`,
    values: valuesOf(columns),
  };
}

/** Its rows are one JSON parameter. */
interface RowsStatement<Entity> {
  readonly text: string;
  readonly values: (rows: readonly Readonly<Record<keyof Entity, unknown>>[]) => unknown[];
}

/** Inserts rows with all columns of the entity. Returns a row for each that no unique constraint has left out. */
export function insertManyStatement<Entity extends object>(
  entity: EntityClass<Entity>,
  table: string,
): RowsStatement<Entity> {
  const columns = columnsOf(entity);
  const names = columns.map(({ name }) => name).join(', ');
  return {
    text: `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${recordset(columns)} ON CONFLICT DO NOTHING RETURNING 1`,
    values: (rows) => [recordsOf(columns, rows)],
  };
}

export function updateManyStatement<Entity extends object>(
  entity: EntityClass<Entity>,
  table: string,
  selection: Selection<Entity>,
): RowsStatement<Entity> {
  const columns = columnsOf(entity, selection);
  const written = columns.filter(({ isPrimary }) => !isPrimary).map(({ name }) => `${name} = fresh.${name}`);
  const key = columns.filter(({ isPrimary }) => isPrimary).map(({ name }) => `stored.${name} = fresh.${name}`);
  return {
    text: `UPDATE ${table} AS stored SET ${written.join(', ')} FROM ${recordset(columns)} WHERE ${key.join(' AND ')}`,
    values: (rows) => [recordsOf(columns, rows)],
  };
}

function recordset(columns: readonly EntityColumn<string>[]): string {
  return `jsonb_to_recordset($1::jsonb) AS fresh (${columns.map(({ name, type }) => `${name} ${String(type)}`).join(', ')})`;
}

function recordsOf<Entity>(
  columns: readonly EntityColumn<keyof Entity & string>[],
  rows: readonly Readonly<Record<keyof Entity, unknown>>[],
): string {
  // Loops and assignments: an import spends a tenth of its time here.
  const records = rows.map((row) => {
    const record: Record<string, unknown> = {};
    for (const { property, name } of columns) record[name] = recordValue(row[property]);
    return record;
  });
  return JSON.stringify(records);
}

/** PostgreSQL reads bytes in its own notation. */
function recordValue(value: unknown): unknown {
  return Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value;
}

function valuesOf<Entity>(columns: readonly EntityColumn<keyof Entity>[]): RowStatement<Entity>['values'] {
  return (row) =>
    columns.map(({ property, type }) => {
      const value = row[property];
      // node-postgres sends a list as an array of PostgreSQL.
      return type === 'jsonb' && value !== null ? JSON.stringify(value) : value;
    });
}

import { type FieldIndex, fieldValue } from './field-index.js';
import {
  type FieldPath,
  type FieldTestKind,
  type FieldTestOf,
  invalidQuery,
  type QueryClass,
  type QueryColumn,
  type QueryScope,
  type SubQuery,
  targetOf,
} from './query.js';

/** Limits of the containment documents for index look-ups, per equality and per query. Above them, the query does not use the index. */
const MAX_DOCUMENTS_AT_ONCE = 256;
const MAX_DOCUMENTS = 2_560;

export class Statement {
  readonly parameters: unknown[];
  #documents = 0;

  constructor(bound: readonly unknown[] = []) {
    this.parameters = [...bound];
  }

  readonly bind = (value: unknown): string => `$${this.parameters.push(value)}`;

  spendDocuments(count: number): boolean {
    if (count > MAX_DOCUMENTS_AT_ONCE || this.#documents + count > MAX_DOCUMENTS) return false;
    this.#documents += count;
    return true;
  }
}

export interface CompileContext {
  readonly queryClass: QueryClass;
  readonly scope: QueryScope;
  readonly statement: Statement;
  readonly index?: FieldIndex | undefined;
  /** The sub-query as `SELECT <column> FROM …`; it does not refer to the outer query. */
  readonly select: (query: SubQuery, column: (within: CompileContext) => string) => string;
}

/** Compilers of each test for one kind of target. The SQL may be NULL, which counts as false. */
export type TestCompilers<Target> = {
  readonly [Kind in FieldTestKind]: (test: FieldTestOf<Kind>, target: Target, context: CompileContext) => string;
};

export function allOf(conditions: readonly string[]): string {
  return joined(conditions, ' AND ', 'TRUE');
}

export function anyOf(conditions: readonly string[]): string {
  return joined(conditions, ' OR ', 'FALSE');
}

/** True where the condition is false or NULL, so that a missing value counts as unequal, not in the list, and so on. */
export function not(condition: string): string {
  return `(${condition}) IS NOT TRUE`;
}

function joined(conditions: readonly string[], operator: string, empty: string): string {
  if (conditions.length === 0) return empty;
  return conditions.length === 1 ? conditions.join('') : `(${conditions.join(operator)})`;
}

/** Bytewise, so that neither order nor comparison depends on the locale of the database. */
const BYTEWISE = 'COLLATE "C"';
/** Case-insensitive matches use the locale of the database. */
const BY_LANGUAGE = 'COLLATE pg_catalog."default"';

const JSON_DATE_FORMAT = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';

export function bytewise(text: string): string {
  return `${text} ${BYTEWISE}`;
}

export function matchText(
  text: string,
  { pattern, ignoresCase }: FieldTestOf<'matches'>,
  context: CompileContext,
): string {
  return `${text} ${ignoresCase ? BY_LANGUAGE : BYTEWISE} ~ ${context.statement.bind(pattern)}`;
}

/** The single value at a path of the JSON column; NULL where it is missing. It does not look into the items of lists. */
export function jsonAt(path: FieldPath, context: CompileContext): string {
  const {
    queryClass: { jsonColumn },
    statement: { bind },
  } = context;
  const [field, ...steps] = path;
  if (isIndexed(path, context)) return fieldValue(field, context.queryClass);
  return steps.length === 0 ? `(${jsonColumn} -> ${bind(field)}::text)` : `(${jsonColumn} #> ${bind(path)}::text[])`;
}

export function isIndexed([field, ...steps]: FieldPath, { index }: CompileContext): boolean {
  return steps.length === 0 && index?.fields.includes(field) === true;
}

export function columnAsJson({ sql, type }: QueryColumn): string {
  return type === 'date'
    ? `jsonb_build_object('__type', 'Date', 'iso', to_char(${sql} AT TIME ZONE 'UTC', '${JSON_DATE_FORMAT}'))`
    : `to_jsonb(${sql})`;
}

/** The value of any field as JSON; NULL where it is missing. @throws AppError INVALID_QUERY for a field that cannot be queried */
function jsonValueOf(path: FieldPath, context: CompileContext): string {
  const target = targetOf(path, context.queryClass);
  if (target.kind === 'relation') throw invalidQuery(`The field ${path[0]} is a relation and has no value.`);
  return target.kind === 'column' ? columnAsJson(target.column) : jsonAt(path, context);
}

/** The values of a field in the results of a sub-query, as the rows of `selected(value)`, NULLs included. */
export function selectedValues({ query, key }: FieldTestOf<'isSelected'>, { select }: CompileContext): string {
  return `(${select(query, (within) => jsonValueOf(key, within))}) AS selected(value)`;
}

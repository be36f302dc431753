import type { JsonValue } from '#contracts';
import { type FieldIndex, fieldValue } from './field-index.js';
import {
  type FieldPath,
  type FieldTestKind,
  type FieldTestOf,
  invalidQuery,
  isPlace,
  type QueryClass,
  type QueryColumn,
  type QueryScope,
  type SubQuery,
  targetOf,
} from './query.js';

/** Documents that one equality looks up in the index, and all of a query together; with more it does without. */
const MAX_DOCUMENTS_AT_ONCE = 256;
const MAX_DOCUMENTS = 2_560;

/** What a statement has bound. */
export class Statement {
  readonly parameters: unknown[];
  #documents = 0;

  constructor(bound: readonly unknown[] = []) {
    this.parameters = [...bound];
  }

  /** Makes the value a parameter. @returns its place, such as `$3` */
  readonly bind = (value: unknown): string => `$${this.parameters.push(value)}`;

  /** Whether there is room for so many more documents; if so they are counted. */
  spendDocuments(count: number): boolean {
    if (count > MAX_DOCUMENTS_AT_ONCE || this.#documents + count > MAX_DOCUMENTS) return false;
    this.#documents += count;
    return true;
  }
}

/** What the conditions of one (sub-)query are compiled with. */
export interface CompileContext {
  readonly queryClass: QueryClass;
  readonly scope: QueryScope;
  readonly statement: Statement;
  /** The index that the statement uses; sub-queries use none. */
  readonly index?: FieldIndex | undefined;
  /** The sub-query as `SELECT <column> FROM …`; nothing in it refers to the query around it. */
  readonly select: (query: SubQuery, column: (within: CompileContext) => string) => string;
}

/** How each test is asked of one kind of target. The SQL may be NULL, which counts as false. */
export type TestCompilers<Target> = {
  readonly [Kind in FieldTestKind]: (test: FieldTestOf<Kind>, target: Target, context: CompileContext) => string;
};

/** @returns the conditions joined; TRUE without any */
export function allOf(conditions: readonly string[]): string {
  return joined(conditions, ' AND ', 'TRUE');
}

/** @returns the conditions joined; FALSE without any */
export function anyOf(conditions: readonly string[]): string {
  return joined(conditions, ' OR ', 'FALSE');
}

/** True where the condition is false or NULL: what is not there is not equal, not in the list, and so on. */
export function not(condition: string): string {
  return `(${condition}) IS NOT TRUE`;
}

function joined(conditions: readonly string[], operator: string, empty: string): string {
  if (conditions.length === 0) return empty;
  return conditions.length === 1 ? conditions.join('') : `(${conditions.join(operator)})`;
}

/** Bytewise: neither order nor comparison depends on the language of the database. */
const BYTEWISE = 'COLLATE "C"';
/** Which upper and lower case letters belong together does. */
const BY_LANGUAGE = 'COLLATE pg_catalog."default"';

const JSON_DATE_FORMAT = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';

/** The text as it is compared and ordered. */
export function bytewise(text: string): string {
  return `${text} ${BYTEWISE}`;
}

/** The SQL that searches a text. */
export function matchText(
  text: string,
  { pattern, ignoresCase }: FieldTestOf<'matches'>,
  context: CompileContext,
): string {
  return `${text} ${ignoresCase ? BY_LANGUAGE : BYTEWISE} ~ ${context.statement.bind(pattern)}`;
}

/** The one value at a path of the JSON column; NULL where there is none. It does not look into the items of lists. */
export function jsonAt(path: FieldPath, context: CompileContext): string {
  const {
    queryClass: { jsonColumn },
    statement: { bind },
  } = context;
  const [field, ...steps] = path;
  if (isIndexed(path, context)) return fieldValue(field, context.queryClass);
  return steps.length === 0 ? `(${jsonColumn} -> ${bind(field)}::text)` : `(${jsonColumn} #> ${bind(path)}::text[])`;
}

/** Whether the statement uses an index that knows the field. */
export function isIndexed([field, ...steps]: FieldPath, { index }: CompileContext): boolean {
  return steps.length === 0 && index?.fields.includes(field) === true;
}

/** A column's value in the form in which a custom field would hold it. */
export function columnAsJson({ sql, type }: QueryColumn): string {
  return type === 'date'
    ? `jsonb_build_object('__type', 'Date', 'iso', to_char(${sql} AT TIME ZONE 'UTC', '${JSON_DATE_FORMAT}'))`
    : `to_jsonb(${sql})`;
}

/** The value of any field as JSON; NULL where there is none. @throws AppError INVALID_QUERY where nobody may ask for it */
function jsonValueOf(path: FieldPath, context: CompileContext): string {
  const target = targetOf(path, context.queryClass);
  if (target.kind === 'relation') throw invalidQuery(`The field ${path[0]} is a relation, and has no value.`);
  return target.kind === 'column' ? columnAsJson(target.column) : jsonAt(path, context);
}

/** The values of a field in what a sub-query finds, as the rows of `selected(value)`; NULLs are among them. */
export function selectedValues({ query, key }: FieldTestOf<'isSelected'>, { select }: CompileContext): string {
  return `(${select(query, (within) => jsonValueOf(key, within))}) AS selected(value)`;
}

/**
 * A path into the JSON column, in two parts. Up to its last step that can be a place in a list it is followed exactly; from there on it goes by names,
 * and through the items of every list on the way, as the API does.
 */
export interface JsonTarget {
  readonly path: FieldPath;
  /** How many steps are followed exactly. */
  readonly exactSteps: number;
  /** The value that the exact steps lead to. Each call binds parameters, all of which the statement must use. */
  readonly base: () => string;
  /** The rest as a JSON path. Every name in it is of characters that mean nothing there. */
  readonly jsonPath: string;
}

/** Where a path of a query leads. */
export function jsonTarget(path: FieldPath, context: CompileContext): JsonTarget {
  const exactSteps = path.findLastIndex((step, index) => index > 0 && isPlace(step)) + 1;
  const [field, ...steps] = path.slice(0, exactSteps);
  const base = () => (field === undefined ? context.queryClass.jsonColumn : jsonAt([field, ...steps], context));
  const names = path.slice(exactSteps).map((name) => `."${name}"`);
  return { path, exactSteps, base, jsonPath: `lax $${names.join('')}` };
}

/** Of how many documents `documentsOf` would consist for one value. */
export function documentCount({ path, exactSteps }: JsonTarget): number {
  const ways = path.map((step, index) => wayCount(step, index, exactSteps));
  return ways.reduce((product, count) => product * count, 2);
}

function wayCount(step: string, index: number, exactSteps: number): number {
  if (index === 0) return 1;
  return index >= exactSteps || isPlace(step) ? 2 : 1;
}

/**
 * All that a JSON column can contain (`@>`) where the value stands at the path: in a member or in the members of a list, by itself or as
 * an item of a list. To contain one of them is necessary for equality, but not always enough.
 */
export function documentsOf({ path, exactSteps }: JsonTarget, value: JsonValue): JsonValue[] {
  return path.reduceRight<JsonValue[]>(
    (inner, step, index) => {
      const asMember = inner.map((document) => ({ [step]: document }));
      if (index === 0 || (index < exactSteps && !isPlace(step))) return asMember;
      const asItem = index < exactSteps ? inner.map((document) => [document]) : asMember.map((document) => [document]);
      return [...asMember, ...asItem];
    },
    [value, [value]],
  );
}

import type { JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';
import { type GeoPoint, invalidFieldName, isFieldName, type Pointer, reachesPrototype } from '../values.js';

/** What one query may ask for. Beyond a bound it is refused with a text that names the bound. */
export const BOUNDS = {
  /** Of the whole query, those of sub-queries included. */
  conditions: 100,
  /** Of `$and`, `$or` and `$nor` within each other. */
  nesting: 8,
  /** Of `$in`, `$nin` and `$all`. */
  listValues: 1_000,
  sortKeys: 10,
  pathSteps: 8,
  pathCharacters: 256,
  subQueries: 5,
  subQueryDepth: 2,
  subQueryRows: 1_000,
  skippedRows: 1_000_000_000,
  /** Of a regular expression, once it is parsed: letters, classes and anchors. */
  patternParts: 256,
  /** The same, with every repetition written out. */
  repeatedPatternParts: 1_000,
  /** Anchors, word boundaries and look-arounds of a regular expression. */
  patternPlaces: 12,
  patternNesting: 16,
} as const;

/** @returns INVALID_QUERY with a text of its own */
export function invalidQuery(message: string): AppError {
  return appError('INVALID_QUERY', { message });
}

/** Counts what a query and its sub-queries have in common. */
export class QueryBudget {
  #conditions = 0;
  #subQueries = 0;

  /** @throws AppError INVALID_QUERY where there have been too many */
  spendCondition(): void {
    this.#conditions += 1;
    if (this.#conditions > BOUNDS.conditions)
      throw invalidQuery(`A query may hold ${BOUNDS.conditions} conditions at most.`);
  }

  /** @throws AppError INVALID_QUERY where there have been too many */
  spendSubQuery(): void {
    this.#subQueries += 1;
    if (this.#subQueries > BOUNDS.subQueries)
      throw invalidQuery(`A query may hold ${BOUNDS.subQueries} sub-queries at most.`);
  }
}

/** A field, or a value within one: the field's name, then names of members and places in lists. */
export type FieldPath = readonly [field: string, ...steps: string[]];

export type ComparisonOperator = '<' | '<=' | '>' | '>=';

/** What a query may ask of a field. Values are in their one form (see object-values). A list passes where one of its items does. */
interface FieldTests {
  /** Equals one of the values; null means unset as well. */
  isAnyOf: { readonly values: readonly JsonValue[] };
  /** Is a list that holds every value. */
  holdsAll: { readonly values: readonly JsonValue[] };
  /** Only values of one type compare: a number, text or truth value, or a Date. */
  compares: { readonly operator: ComparisonOperator; readonly value: JsonValue };
  exists: object;
  /** Is a list of so many items. */
  hasSize: { readonly size: number };
  /** Is text that PostgreSQL's regular expression finds something in. */
  matches: { readonly pattern: string; readonly ignoresCase: boolean };
  /** Is a place, so far away at most; the rows come nearest first. */
  isNear: { readonly point: GeoPoint; readonly maxRadians: number | undefined };
  isWithin: { readonly southwest: GeoPoint; readonly northeast: GeoPoint };
  /** Points to an object that the query finds. */
  isInQuery: { readonly query: SubQuery };
  /** Equals the value of `key` in an object that the query finds. */
  isSelected: { readonly query: SubQuery; readonly key: FieldPath };
}

export type FieldTestKind = keyof FieldTests;
export type FieldTestOf<Kind extends FieldTestKind> = { readonly kind: Kind } & FieldTests[Kind];
export type FieldTest = { [Kind in FieldTestKind]: FieldTestOf<Kind> }[FieldTestKind];

export interface FieldCondition {
  readonly kind: 'field';
  readonly field: FieldPath;
  readonly test: FieldTest;
}

/** The row is in a relation of another object. */
export interface RelatedCondition {
  readonly kind: 'related';
  readonly object: Pointer;
  readonly key: string;
}

/** The `where` of a query as a tree. */
export type Condition =
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly Condition[] }
  | { readonly kind: 'not'; readonly condition: Condition }
  | RelatedCondition
  | FieldCondition;

export interface SortKey {
  readonly field: FieldPath;
  readonly direction: 'ASC' | 'DESC';
}

/** A parsed query; no limit means all rows. */
export interface ObjectQuery {
  readonly where: Condition;
  readonly order: readonly SortKey[];
  readonly limit?: number | undefined;
  readonly skip?: number | undefined;
}

/** A query inside a query: the objects of another class that it finds. */
export interface SubQuery extends ObjectQuery {
  readonly className: string;
  readonly limit: number;
}

/** None of these characters means anything in a JSON path's quoted name. */
const STEP = /^[\p{L}\p{M}\p{N}_-]+$/u;
const PLACE = /^(?:0|[1-9]\d{0,8})$/;

/** Reads `field` or `field.member.0`. @throws AppError INVALID_KEY_NAME; INVALID_QUERY where it is too long */
export function parsePath(text: string): FieldPath {
  if (text.length > BOUNDS.pathCharacters)
    throw invalidQuery(`The path of a field may have ${BOUNDS.pathCharacters} characters at most.`);
  const [field = '', ...steps] = text.split('.');
  if (steps.length >= BOUNDS.pathSteps)
    throw invalidQuery(`The path of a field may have ${BOUNDS.pathSteps} parts at most.`);
  if (!isFieldName(field) || !steps.every(isStep)) throw invalidFieldName(text);
  return [field, ...steps];
}

/** Whether the step can be a place in a list; it may be the name of a member too. */
export function isPlace(step: string): boolean {
  return PLACE.test(step);
}

function isStep(step: string): boolean {
  return STEP.test(step) && !reachesPrototype(step);
}

type ColumnType = 'text' | 'boolean' | 'date';

export interface QueryColumn {
  readonly sql: string;
  readonly type: ColumnType;
  /** Left out where every row has a value: an index serves the order then. */
  readonly isNullable?: true;
  /** No two rows of an application have the same value, and an index knows. */
  readonly isUnique?: true;
}

/** A relation kept in a table of pairs: which objects of another class belong to an object of this one. */
export interface QueryRelation {
  /** The class of the members. */
  readonly className: string;
  readonly table: string;
  readonly appColumn: string;
  readonly ownerColumn: string;
  readonly memberColumn: string;
}

/** What of a class may be queried, and where it is kept. Names of SQL stand here, written by us; never a name from input. */
export interface QueryClass {
  /** As the API knows it, such as `_User`. */
  readonly className: string;
  readonly table: string;
  /** Fields with a column of their own. Names that are neither here, nor a relation, nor hidden are custom fields in the JSON column. */
  readonly columns: ReadonlyMap<string, QueryColumn>;
  readonly relations: ReadonlyMap<string, QueryRelation>;
  /** Fields that nobody may ask about, in whatever part of a query. */
  readonly hidden: ReadonlySet<string>;
  readonly appColumn: string;
  /** Breaks ties of the order, so that pages neither overlap nor leave gaps. */
  readonly idColumn: string;
  /** An object, never NULL; indexed by `gin (… jsonb_path_ops)` where equality shall be quick. */
  readonly jsonColumn: string;
  /** Who may read a row; SQL's NULL means everybody. */
  readonly aclColumn: string;
  /** By what rows are ordered where the query does not say. */
  readonly defaultOrderColumn: string;
}

/** For whom a query runs: it sees the rows of one application that one of the grantees may read. */
export interface QueryScope {
  readonly appId: string;
  /** Names as ACLs use them: `*`, user ids, `role:<name>`. The master key sees all rows. */
  readonly grantees: 'master' | readonly string[];
  /** The class that a sub-query or a pointer names. @throws AppError where there is none, or the caller may not find in it */
  classOf(className: string): QueryClass;
}

/** Where what a query names is kept. */
type QueryTarget =
  | { readonly kind: 'column'; readonly column: QueryColumn }
  | { readonly kind: 'relation'; readonly relation: QueryRelation }
  | { readonly kind: 'json'; readonly path: FieldPath };

/** The one way from a name in a query to what it stands for. @throws AppError INVALID_QUERY where it is hidden, or has no parts */
export function targetOf(path: FieldPath, { hidden, columns, relations }: QueryClass): QueryTarget {
  const [field, ...steps] = path;
  if (hidden.has(field)) throw invalidQuery(`The field ${field} cannot be queried.`);
  const column = columns.get(field);
  const relation = relations.get(field);
  if (steps.length > 0 && (column ?? relation) !== undefined) throw invalidQuery(`The field ${field} has no parts.`);
  if (column !== undefined) return { kind: 'column', column };
  return relation === undefined ? { kind: 'json', path } : { kind: 'relation', relation };
}

import type { JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';
import { type GeoPoint, invalidFieldName, isFieldName, type Pointer, reachesPrototype } from '../values.js';

export const LIMITS = {
  conditions: 100,
  /** Of nested `$and`, `$or` and `$nor`. */
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
  /** Parts of a parsed regular expression: letters, classes and anchors. */
  patternParts: 256,
  /** Parts with every repetition expanded. */
  repeatedPatternParts: 1_000,
  /** Anchors, word boundaries and look-arounds of a regular expression. */
  patternPlaces: 12,
  patternNesting: 16,
} as const;

export function invalidQuery(message: string): AppError {
  return appError('INVALID_QUERY', { message });
}

export class QueryBudget {
  #conditions = 0;
  #subQueries = 0;

  spendCondition(): void {
    this.#conditions += 1;
    if (this.#conditions > LIMITS.conditions)
      throw invalidQuery(`A query may have at most ${LIMITS.conditions} conditions.`);
  }

  spendSubQuery(): void {
    this.#subQueries += 1;
    if (this.#subQueries > LIMITS.subQueries)
      throw invalidQuery(`A query may have at most ${LIMITS.subQueries} sub-queries.`);
  }
}

export type FieldPath = readonly [field: string, ...steps: string[]];

export type ComparisonOperator = '<' | '<=' | '>' | '>=';

/** The tests of a query on a field. Values have their canonical form (see `values.ts`). A list matches where one of its items does. */
interface FieldTests {
  /** Equals one of the values; null also matches an unset field. */
  isAnyOf: { readonly values: readonly JsonValue[] };
  holdsAll: { readonly values: readonly JsonValue[] };
  /** Only values of one type are comparable: numbers, texts, booleans, or Dates. */
  compares: { readonly operator: ComparisonOperator; readonly value: JsonValue };
  exists: object;
  hasSize: { readonly size: number };
  matches: { readonly pattern: string; readonly ignoresCase: boolean };
  /** Is a point within the maximum distance; rows are sorted nearest first. */
  isNear: {
    readonly point: GeoPoint;
    readonly minRadians: number | undefined;
    readonly maxRadians: number | undefined;
  };
  isWithin: { readonly southwest: GeoPoint; readonly northeast: GeoPoint };
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

export interface RelatedCondition {
  readonly kind: 'related';
  readonly object: Pointer;
  readonly key: string;
}

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

export interface SubQuery extends ObjectQuery {
  readonly className: string;
  readonly limit: number;
}

/** Characters without a special meaning in a quoted name of a JSON path. */
const STEP = /^[\p{L}\p{M}\p{N}_-]+$/u;
const PLACE = /^(?:0|[1-9]\d{0,8})$/;

/** Parses `field` or `field.member.0`. @throws AppError INVALID_KEY_NAME; INVALID_QUERY where it is too long */
export function parsePath(text: string): FieldPath {
  if (text.length > LIMITS.pathCharacters)
    throw invalidQuery(`The path of a field may have at most ${LIMITS.pathCharacters} characters.`);
  const [field = '', ...steps] = text.split('.');
  if (steps.length >= LIMITS.pathSteps)
    throw invalidQuery(`The path of a field may have at most ${LIMITS.pathSteps} parts.`);
  if (!isFieldName(field) || !steps.every(isStep)) throw invalidFieldName(text);
  return [field, ...steps];
}

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
  /** Absent where every row has a value, so that an index can serve the order. */
  readonly isNullable?: true;
  readonly isUnique?: true;
  /** A query may only ask whether the whole value equals another: any other test would reveal a hidden value part by part. */
  readonly isWholeOnly?: boolean;
  /** The stored form of a text that a query compares. Absent: the text itself. */
  readonly storedForm?: (text: string) => string;
}

export interface QueryRelation {
  readonly className: string;
  readonly table: string;
  readonly appColumn: string;
  readonly ownerColumn: string;
  readonly memberColumn: string;
}

/** The queryable fields of a class and their storage. SQL names come from the code, never from input. */
export interface QueryClass {
  readonly className: string;
  readonly table: string;
  /** Fields with a column of their own. All names that are not here, not a relation and not hidden are custom fields in the JSON column. */
  readonly columns: ReadonlyMap<string, QueryColumn>;
  readonly relations: ReadonlyMap<string, QueryRelation>;
  readonly hidden: ReadonlySet<string>;
  readonly appColumn: string;
  /** Breaks ties of the order, so that pages have no overlaps and gaps. */
  readonly idColumn: string;
  /** An object, never NULL. A `gin (… jsonb_path_ops)` index makes equality fast. */
  readonly jsonColumn: string;
  readonly aclColumn: string;
  readonly defaultOrderColumn: string;
  readonly onlyId?: string | undefined;
}

export interface QueryScope {
  readonly appId: string;
  /** Names as in ACLs: `*`, user ids, `role:<name>`. The master key sees all rows. */
  readonly grantees: 'master' | readonly string[];
  /** The class that a sub-query or a pointer names. @throws AppError where the class does not exist, or the caller may not query it */
  classOf(className: string): QueryClass;
}

type QueryTarget =
  | { readonly kind: 'column'; readonly column: QueryColumn }
  | { readonly kind: 'relation'; readonly relation: QueryRelation }
  | { readonly kind: 'json'; readonly path: FieldPath };

/** The only mapping from a name in a query to its storage. `test` is undefined where the query uses the value itself. */
export function targetOf(
  path: FieldPath,
  { hidden, columns, relations }: QueryClass,
  test?: FieldTestKind,
): QueryTarget {
  const [field, ...steps] = path;
  if (hidden.has(field)) throw invalidQuery(`The field ${field} cannot be queried.`);
  const column = columns.get(field);
  const relation = relations.get(field);
  if (steps.length > 0 && (column ?? relation) !== undefined) throw invalidQuery(`The field ${field} has no parts.`);
  if (column?.isWholeOnly === true && test !== 'isAnyOf')
    throw invalidQuery(`The field ${field} can only be compared with whole values.`);
  if (column !== undefined) return { kind: 'column', column };
  return relation === undefined ? { kind: 'json', path } : { kind: 'relation', relation };
}

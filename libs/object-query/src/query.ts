import type { JsonValue } from '#contracts';
import type { GeoPoint, Pointer } from '#object-values';

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

import type { JsonValue } from '#contracts';
import type { Pointer } from '#object-values';

/** What happens to one value. */
export type Operation =
  | { readonly kind: 'set'; readonly value: JsonValue }
  | { readonly kind: 'delete' }
  | { readonly kind: 'increment'; readonly amount: number }
  | { readonly kind: 'add' | 'addUnique' | 'remove'; readonly objects: readonly JsonValue[] }
  | { readonly kind: 'bits'; readonly operator: BitOperator; readonly value: number };

export type BitOperator = 'and' | 'or' | 'xor';

/** Names from the field down to a value within it; `address.city` is `['address', 'city']`. */
export type Path = readonly [field: string, ...members: string[]];

/** One change of a document. Several of one path are applied in their order. */
export interface FieldChange {
  readonly path: Path;
  readonly operation: Operation;
}

/** One change of a relation, whose objects are not kept in the document. */
export interface RelationChange {
  readonly field: string;
  readonly kind: 'addRelation' | 'removeRelation';
  readonly objects: readonly Pointer[];
}

/** What happens to the objects of one relation. */
export type RelationOperation = Omit<RelationChange, 'field'>;

/** The changes that the fields of a write ask for. */
export interface ParsedChanges {
  readonly values: readonly FieldChange[];
  readonly relations: readonly RelationChange[];
}

import type { JsonObject, JsonValue } from '#contracts';
import { AppError, appError, isAppError } from '#errors';
import { assertNestedKey, invalidFieldName, isFieldName, isJsonObject, type Pointer } from '../values.js';

const MAX_LEVELS = 8;
/** Members that mark a value as typed or as an operation cannot be changed separately. */
const MARKS = new Set(['__type', '__op']);

/** Parses a key such as `color` or `address.city`. @throws AppError INVALID_KEY_NAME, INVALID_NESTED_KEY */
export function parsePath(key: string): Path {
  const [field = '', ...members] = key.split('.', MAX_LEVELS + 1);
  if (!isFieldName(field)) throw invalidFieldName(key);
  if (members.length >= MAX_LEVELS) throw invalidKey(`A key may have at most ${MAX_LEVELS} levels.`);
  for (const member of members) assertMember(member, key);
  return [field, ...members];
}

/** The fields that a write changes: `address` for `address.city`. */
export function changedRoots(fields: JsonObject): string[] {
  return [...new Set(Object.keys(fields).map(rootOf))];
}

/**
 * The order of a change of a value and a change of its part would be undefined.
 * @throws AppError INVALID_KEY_NAME where one key is inside another
 */
export function assertDisjoint(keys: readonly string[]): void {
  const parts = keys.filter((key) => key.includes('.'));
  if (parts.length === 0) return;
  const named = new Set(keys);
  const part = parts.find((key) => wholesOf(key).some((whole) => named.has(whole)));
  if (part !== undefined) throw invalidKey(`One request cannot change both a value and a part of it: ${rootOf(part)}.`);
}

/** `a` and `a.b` for `a.b.c`. */
function wholesOf(key: string): string[] {
  const names = key.split('.');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('.'));
}

/** The field of a key: `address` for `address.city`. */
export function rootOf(key: string): string {
  return key.split('.', 1)[0] ?? key;
}

function assertMember(member: string, key: string): void {
  if (member === '' || MARKS.has(member)) throw invalidFieldName(key);
  assertNestedKey(member);
}

function invalidKey(message: string): AppError {
  return appError('INVALID_KEY_NAME', { message });
}

/** A change of one value. */
export type Operation =
  | { readonly kind: 'set'; readonly value: JsonValue }
  | { readonly kind: 'delete' }
  | { readonly kind: 'increment'; readonly amount: number }
  | { readonly kind: 'add' | 'addUnique' | 'remove'; readonly objects: readonly JsonValue[] }
  | { readonly kind: 'bits'; readonly operator: BitOperator; readonly value: number };

export type BitOperator = 'and' | 'or' | 'xor';

/** Names from the field down to a value inside it; `address.city` is `['address', 'city']`. */
export type Path = readonly [field: string, ...members: string[]];

/** One change of a document. Several changes of one path are applied in order. */
export interface FieldChange {
  readonly path: Path;
  readonly operation: Operation;
}

/** One change of a relation, whose objects are stored outside of the document. */
export interface RelationChange {
  readonly field: string;
  readonly kind: 'addRelation' | 'removeRelation';
  readonly objects: readonly Pointer[];
}

/** A change of the objects of one relation. */
export type RelationOperation = Omit<RelationChange, 'field'>;

/** The parsed changes of a write. */
export interface ParsedChanges {
  readonly values: readonly FieldChange[];
  readonly relations: readonly RelationChange[];
}

/** A text that is identical for equal values, independent of the order of their members. */
export function canonicalText(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}:${canonicalText(item)}`);
  return `{${members.sort().join(',')}}`;
}

/** Adds the field's name to an error without one, as INCORRECT_TYPE does. */
export function inField<T>(field: string, decide: () => T): T {
  try {
    return decide();
  } catch (error) {
    if (!isAppError(error, 'INCORRECT_TYPE')) throw error;
    throw new AppError(error.errorName, { message: `${field}: ${error.message}`, cause: error });
  }
}

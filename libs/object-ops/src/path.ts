import type { JsonObject } from '#contracts';
import { type AppError, appError } from '#errors';
import { assertNestedKey, invalidFieldName, isFieldName } from '#object-values';
import type { Path } from './change.js';

const MAX_LEVELS = 8;
/** What makes a value a typed one or an operation is never changed by itself. */
const MARKS = new Set(['__type', '__op']);

/** Reads a key such as `color` or `address.city`. @throws AppError INVALID_KEY_NAME, INVALID_NESTED_KEY */
export function parsePath(key: string): Path {
  const [field = '', ...members] = key.split('.', MAX_LEVELS + 1);
  if (!isFieldName(field)) throw invalidFieldName(key);
  if (members.length >= MAX_LEVELS) throw invalidKey(`A key may name ${MAX_LEVELS} levels at most.`);
  for (const member of members) assertMember(member, key);
  return [field, ...members];
}

/** The fields that a write touches: `address` for `address.city`. */
export function changedRoots(fields: JsonObject): string[] {
  return [...new Set(Object.keys(fields).map(rootOf))];
}

/** What would happen first, the whole or its part? @throws AppError INVALID_KEY_NAME where one key is within another */
export function assertDisjoint(keys: readonly string[]): void {
  const named = new Set(keys);
  const part = keys.find((key) => wholesOf(key).some((whole) => named.has(whole)));
  if (part !== undefined) throw invalidKey(`One request cannot change both a value and a part of it: ${rootOf(part)}.`);
}

/** `a` and `a.b` for `a.b.c`. */
function wholesOf(key: string): string[] {
  const names = key.split('.');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('.'));
}

function rootOf(key: string): string {
  return key.split('.', 1)[0] ?? key;
}

function assertMember(member: string, key: string): void {
  if (member === '' || MARKS.has(member)) throw invalidFieldName(key);
  assertNestedKey(member);
}

function invalidKey(message: string): AppError {
  return appError('INVALID_KEY_NAME', { message });
}

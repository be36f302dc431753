import type { JsonObject, JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';
import { isJsonObject } from '../values.js';
import { type BitOperator, canonicalText, type FieldChange, inField, type Operation } from './change.js';

function applyOperation(operation: Operation, current: JsonValue | undefined): JsonValue | undefined {
  switch (operation.kind) {
    case 'set':
      return operation.value;
    case 'delete':
      return undefined;
    case 'increment':
      return Math.max(operation.atLeast ?? -Infinity, increment(current, operation.amount));
    case 'add':
      return [...listOf(current), ...operation.objects];
    case 'addUnique':
      return addUnique(listOf(current), operation.objects);
    case 'remove':
      return current === undefined ? undefined : without(listOf(current), operation.objects);
    case 'bits':
      return combineBits(operation.operator, current, operation.value);
  }
}

function increment(current: JsonValue | undefined = 0, amount: number): number {
  if (typeof current !== 'number') throw incorrect('Increment and Decrement work on numbers only.');
  const sum = current + amount;
  if (isInexact(current, amount, sum)) throw incorrect('The result exceeds the exact integer range.');
  return sum;
}

/** Whether the amount is lost, or a sum of integers leaves their exact range or is rounded. Fractions are rounded as usual. */
function isInexact(current: number, amount: number, sum: number): boolean {
  if (!Number.isFinite(sum) || sum === current) return amount !== 0;
  if (Number.isSafeInteger(sum) || ![current, amount].every(Number.isInteger)) return false;
  return [current, amount].every(Number.isSafeInteger) || BigInt(current) + BigInt(amount) !== BigInt(sum);
}

function listOf(current: JsonValue | undefined = []): readonly JsonValue[] {
  if (!Array.isArray(current)) throw incorrect('Add, AddUnique and Remove work on lists only.');
  return current;
}

function addUnique(list: readonly JsonValue[], objects: readonly JsonValue[]): JsonValue[] {
  const known = new Set(list.map(canonicalText));
  const added = objects.filter((item) => {
    const text = canonicalText(item);
    const isNew = !known.has(text);
    known.add(text);
    return isNew;
  });
  return [...list, ...added];
}

function without(list: readonly JsonValue[], objects: readonly JsonValue[]): JsonValue[] {
  const unwanted = new Set(objects.map(canonicalText));
  return list.filter((item) => !unwanted.has(canonicalText(item)));
}

/** Works in two's complement of any width; a missing value counts as 0. */
function combineBits(operator: BitOperator, current: JsonValue | undefined = 0, value: number): number {
  if (typeof current !== 'number' || !Number.isSafeInteger(current))
    throw incorrect('BitAnd, BitOr and BitXor work on integers only.');
  const result = Number(combine(operator, BigInt(current), BigInt(value)));
  if (!Number.isSafeInteger(result)) throw incorrect('The result exceeds the exact integer range.');
  return result;
}

function combine(operator: BitOperator, left: bigint, right: bigint): bigint {
  if (operator === 'and') return left & right;
  return operator === 'or' ? left | right : left ^ right;
}

function incorrect(message: string): AppError {
  return appError('INCORRECT_TYPE', { message });
}

type Container = JsonObject | JsonValue[];

const INDEX = /^(?:0|[1-9]\d{0,8})$/;
const nest = (inner: JsonValue, name: string): JsonValue => ({ [name]: inner });

/** The given document stays unchanged. @throws AppError INCORRECT_TYPE where a change does not match the existing value */
export function applyChanges(document: JsonObject, changes: readonly FieldChange[]): JsonObject {
  const draft = { ...document };
  const entered = new Set(changes.filter(({ path }) => path.length > 1).map(({ path }) => path[0]));
  for (const name of entered) replace(draft, name, structuredClone(memberOf(draft, name)));
  for (const change of changes) {
    inField(change.path[0], () => {
      applyChange(draft, change);
    });
  }
  return draft;
}

function applyChange(draft: JsonObject, { path, operation }: FieldChange): void {
  let container: Container = draft;
  for (const [level, name] of path.entries()) {
    const current = memberOf(container, name);
    const below = path.slice(level + 1);
    if (below.length === 0 || current === undefined) {
      const value = applyOperation(operation, current);
      replace(container, name, value === undefined ? undefined : below.reduceRight(nest, value));
      return;
    }
    container = asContainer(current);
  }
}

function memberOf(container: Container, name: string): JsonValue | undefined {
  if (Array.isArray(container)) return container[indexOf(name, container)];
  return Object.hasOwn(container, name) ? container[name] : undefined;
}

function replace(container: Container, name: string, value: JsonValue | undefined): void {
  if (Array.isArray(container)) {
    if (value === undefined) throw incorrect('Use Remove to delete an element of a list.');
    container[indexOf(name, container)] = value;
  } else if (value === undefined) {
    Reflect.deleteProperty(container, name);
  } else {
    container[name] = value;
  }
}

function indexOf(name: string, list: readonly JsonValue[]): number {
  const index = INDEX.test(name) ? Number(name) : -1;
  if (index < 0 || index >= list.length) throw incorrect('The list has no such element.');
  return index;
}

/** Typed values are atomic: parts of a Date or a Pointer cannot be changed. */
function asContainer(value: JsonValue): Container {
  if (Array.isArray(value) || (isJsonObject(value) && !Object.hasOwn(value, '__type'))) return value;
  throw incorrect('The key leads into a value that is not an object.');
}

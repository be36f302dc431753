import type { JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';
import { canonicalText } from './canonical-text.js';
import type { BitOperator, Operation } from './change.js';

/**
 * The value after the operation; undefined where there is none, before or after.
 * @throws AppError INCORRECT_TYPE where the operation does not fit the value
 */
export function applyOperation(operation: Operation, current: JsonValue | undefined): JsonValue | undefined {
  switch (operation.kind) {
    case 'set':
      return operation.value;
    case 'delete':
      return undefined;
    case 'increment':
      return increment(current, operation.amount);
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

/** Integers stay exact: a sum that is not would be rounded in silence. */
function increment(current: JsonValue | undefined = 0, amount: number): number {
  if (typeof current !== 'number') throw incorrect('Increment and Decrement work on numbers only.');
  const sum = current + amount;
  const isExact = Number.isSafeInteger(sum) || !Number.isSafeInteger(current) || !Number.isSafeInteger(amount);
  if (!Number.isFinite(sum) || !isExact) throw incorrect('The number would be too large.');
  return sum;
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

/** In two's complement of any width; a missing value has no bit set. */
function combineBits(operator: BitOperator, current: JsonValue | undefined = 0, value: number): number {
  if (typeof current !== 'number' || !Number.isSafeInteger(current))
    throw incorrect('BitAnd, BitOr and BitXor work on integers only.');
  const result = Number(combine(operator, BigInt(current), BigInt(value)));
  if (!Number.isSafeInteger(result)) throw incorrect('The number would be too large.');
  return result;
}

function combine(operator: BitOperator, left: bigint, right: bigint): bigint {
  switch (operator) {
    case 'and':
      return left & right;
    case 'or':
      return left | right;
    case 'xor':
      return left ^ right;
  }
}

function incorrect(message: string): AppError {
  return appError('INCORRECT_TYPE', { message });
}

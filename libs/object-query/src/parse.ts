import type { JsonValue } from '#contracts';
import { appError } from '#errors';
import type { Condition, SortKey } from './query.js';
import { isStorableJson } from './storable-text.js';

const FIELD_NAME = /^[A-Za-z][A-Za-z0-9_]{0,127}$/;
const MAX_CONDITIONS = 100;
const MAX_SORT_KEYS = 10;

const invalid = (message: string) => appError('INVALID_QUERY', { message });

/** Reads a `where` object. @throws AppError INVALID_QUERY where it is none, or names an unknown operator */
export function parseWhere(where: unknown): Condition {
  if (where === undefined || where === null) return { kind: 'and', conditions: [] };
  if (typeof where !== 'object' || Array.isArray(where)) throw invalid('where must be a JSON object.');
  const entries = Object.entries(where as Record<string, JsonValue>);
  if (entries.length > MAX_CONDITIONS) throw invalid(`where may hold ${MAX_CONDITIONS} conditions at most.`);
  return { kind: 'and', conditions: entries.map(([field, value]) => parseCondition(field, value)) };
}

/** Reads an `order` such as `age,-createdAt`. @throws AppError INVALID_QUERY */
export function parseOrder(order: string | undefined): SortKey[] {
  const keys = (order ?? '')
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
  if (keys.length > MAX_SORT_KEYS) throw invalid(`order may hold ${MAX_SORT_KEYS} keys at most.`);
  return keys.map(parseSortKey);
}

function parseSortKey(key: string): SortKey {
  const isDescending = key.startsWith('-');
  const field = isDescending ? key.slice(1) : key;
  assertFieldName(field);
  return { field, direction: isDescending ? 'DESC' : 'ASC' };
}

function parseCondition(field: string, value: JsonValue): Condition {
  if (field.startsWith('$')) throw invalid(`Unknown operator ${field.slice(0, 32)}.`);
  assertFieldName(field);
  assertNoOperator(value);
  if (!isStorableJson(value)) throw invalid('Values must be valid Unicode without NUL characters.');
  return { kind: 'equals', field, value };
}

function assertFieldName(field: string): void {
  if (!FIELD_NAME.test(field)) throw appError('INVALID_KEY_NAME');
}

function assertNoOperator(value: JsonValue): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  const operator = Object.keys(value).find((key) => key.startsWith('$') || key === '__op');
  if (operator !== undefined) throw invalid(`Unknown operator ${operator.slice(0, 32)}.`);
}

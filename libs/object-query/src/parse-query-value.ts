import type { JsonValue } from '#contracts';
import { AppError } from '#errors';
import { parseValue } from '#object-values';
import { BOUNDS, invalidQuery } from './bounds.js';

/** Reads a value to compare with, in the form in which it would be stored. @throws AppError INVALID_QUERY, MALFORMED_POINTER */
export function parseQueryValue(value: JsonValue): JsonValue {
  try {
    return parseValue(value);
  } catch (error) {
    if (!(error instanceof AppError) || error.is('MALFORMED_POINTER')) throw error;
    throw invalidQuery(error.message);
  }
}

/** Reads the list of an operator such as `$in`. @throws AppError INVALID_QUERY, MALFORMED_POINTER */
export function parseQueryValues(operator: string, list: JsonValue): readonly JsonValue[] {
  if (!Array.isArray(list)) throw invalidQuery(`${operator} takes a list.`);
  if (list.length > BOUNDS.listValues)
    throw invalidQuery(`${operator} takes a list of ${BOUNDS.listValues} values at most.`);
  return list.map((value) => parseQueryValue(value));
}

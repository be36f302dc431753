import { BOUNDS, invalidQuery } from './bounds.js';
import { parsePath } from './field-path.js';
import type { SortKey } from './query.js';

/** Reads an `order` such as `age,-address.city`. @throws AppError INVALID_QUERY, INVALID_KEY_NAME */
export function parseOrder(order: string | undefined): SortKey[] {
  const keys = (order ?? '')
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
  if (keys.length > BOUNDS.sortKeys) throw invalidQuery(`order may hold ${BOUNDS.sortKeys} keys at most.`);
  return keys.map(parseSortKey);
}

function parseSortKey(key: string): SortKey {
  const isDescending = key.startsWith('-');
  return { field: parsePath(isDescending ? key.slice(1) : key), direction: isDescending ? 'DESC' : 'ASC' };
}

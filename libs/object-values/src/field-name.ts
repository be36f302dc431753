import { type AppError, appError } from '#errors';
import { isStorableText } from './storable-text.js';

const FIELD_NAME = /^[A-Za-z][A-Za-z0-9_]{0,127}$/;
const PROTOTYPE_NAMES = new Set(['__proto__', 'constructor', 'prototype']);

/** Whether a custom field may have the name: a letter, then letters, digits and `_`; 128 characters at most. */
export function isFieldName(name: string): boolean {
  return FIELD_NAME.test(name) && !reachesPrototype(name);
}

/** Whether the name reaches an object's prototype where a program is careless. */
export function reachesPrototype(name: string): boolean {
  return PROTOTYPE_NAMES.has(name);
}

/** The refusal of a field name, with as much of it as can be shown safely. */
export function invalidFieldName(name: string): AppError {
  const shown = name.slice(0, 64).replaceAll(/[^\x20-\x7e]/g, '?');
  return appError('INVALID_KEY_NAME', {
    message: `Invalid key name. Keys are case-sensitive and 'a-zA-Z0-9_' are the only valid characters. The column is: '${shown}'.`,
  });
}

/** Judges the name of a member inside a value. @throws AppError INVALID_KEY_NAME, INVALID_NESTED_KEY */
export function assertNestedKey(key: string): void {
  if (reachesPrototype(key) || !isStorableText(key)) throw invalidFieldName(key);
  if (key.includes('$') || key.includes('.')) throw appError('INVALID_NESTED_KEY');
}

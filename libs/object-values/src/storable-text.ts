import type { JsonValue } from '#contracts';

/** Whether PostgreSQL can store the text: no NUL, no half of a surrogate pair. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Whether every text of the value can be stored, names included. */
export function isStorableJson(value: JsonValue): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, item]) => isStorableText(name) && isStorableJson(item));
}

import { LRUCache } from 'lru-cache';

/** Each costs every connection some memory, for as long as it lives. */
const MAX_NAMES = 200;
const MAX_TEXT_LENGTH = 4_096;
/** So often a text comes, while it is among those that came last, before it gets a name: no caller's odd ones use the names up by chance. */
const TIMES = 20;
const MAX_REMEMBERED = 1_000;

const names = new Map<string, string>();
const seen = new LRUCache<string, number>({ max: MAX_REMEMBERED });

/**
 * The name under which a statement that a client worded stays prepared, for good. Queries of one kind differ in their values only: so few texts come
 * again and again.
 * @returns undefined for a text that has not come often, is long, or comes when all names are given
 */
export function shapeName(text: string): string | undefined {
  const name = names.get(text);
  if (name !== undefined || names.size === MAX_NAMES || text.length > MAX_TEXT_LENGTH) return name;
  const times = (seen.get(text) ?? 0) + 1;
  seen.set(text, times);
  if (times < TIMES) return undefined;
  seen.delete(text);
  const added = `shape.${names.size}`;
  names.set(text, added);
  return added;
}

import { LRUCache } from 'lru-cache';

/** Each costs every connection some memory, for as long as it lives. */
const MAX_NAMES = 200;
const MAX_TEXT_LENGTH = 8_192;
/** Of those that came once. */
const MAX_REMEMBERED = 1_000;

const names = new Map<string, string>();
const remembered = new LRUCache<string, true>({ max: MAX_REMEMBERED });

/**
 * The name under which a statement that a client worded stays prepared. Queries of one kind differ in their values only: the few texts that come
 * again and again get one, when they come for the second time.
 * @returns undefined for any other
 */
export function shapeName(text: string): string | undefined {
  const name = names.get(text);
  if (name !== undefined || names.size === MAX_NAMES || text.length > MAX_TEXT_LENGTH) return name;
  if (!remembered.delete(text)) {
    remembered.set(text, true);
    return undefined;
  }
  const added = `shape.${names.size}`;
  names.set(text, added);
  return added;
}

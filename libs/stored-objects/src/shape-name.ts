import { LRUCache } from 'lru-cache';

/** Each costs every connection some memory, for as long as it lives. */
const MAX_NAMES = 200;
const MAX_TEXT_LENGTH = 4_096;
/** What asks an index says each of its expressions several times. */
const MAX_INDEXED_TEXT_LENGTH = 32_768;
/** So often a text comes, while it is among those that came last, before it gets a name: no caller's odd ones use the names up by chance. */
const TIMES = 20;
const MAX_REMEMBERED = 1_000;

/** Names for statements of one kind. */
class ShapeNames {
  readonly #names = new Map<string, string>();
  readonly #seen = new LRUCache<string, number>({ max: MAX_REMEMBERED });

  constructor(
    private readonly prefix: string,
    private readonly maxTextLength: number,
  ) {}

  of(text: string): string | undefined {
    const name = this.#names.get(text);
    if (name !== undefined || this.#names.size === MAX_NAMES || text.length > this.maxTextLength) return name;
    const times = (this.#seen.get(text) ?? 0) + 1;
    this.#seen.set(text, times);
    if (times < TIMES) return undefined;
    this.#seen.delete(text);
    const added = `${this.prefix}.${this.#names.size}`;
    this.#names.set(text, added);
    return added;
  }
}

const shapes = new ShapeNames('shape', MAX_TEXT_LENGTH);
const indexed = new ShapeNames('indexed', MAX_INDEXED_TEXT_LENGTH);

/**
 * The name under which a statement that a client worded stays prepared, for good. Queries of one kind differ in their values only: so few texts come
 * again and again.
 * @param isIndexed whether an index of custom fields answers it: such statements have names, and connections, of their own
 * @returns undefined for a text that has not come often, is long, or comes when all names are given
 */
export function shapeName(text: string, isIndexed = false): string | undefined {
  return (isIndexed ? indexed : shapes).of(text);
}

import { LRUCache } from 'lru-cache';

/** Each name costs memory on every connection, for the connection's lifetime. */
const MAX_NAMES = 200;
const MAX_TEXT_LENGTH = 4_096;
/** Statements with an index repeat its expressions and are longer. */
const MAX_INDEXED_TEXT_LENGTH = 32_768;
/** Uses of a text, while it is among the recent ones, before it gets a name, so that rare texts do not use up the names. */
const MIN_USES = 20;
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
    if (times < MIN_USES) return undefined;
    this.#seen.delete(text);
    const added = `${this.prefix}.${this.#names.size}`;
    this.#names.set(text, added);
    return added;
  }
}

const shapes = new ShapeNames('shape', MAX_TEXT_LENGTH);
const indexed = new ShapeNames('indexed', MAX_INDEXED_TEXT_LENGTH);

/**
 * The name under which a client-defined statement stays prepared, permanently. Queries of one kind differ only in their values, so that few
 * texts recur often.
 * @param isIndexed whether an index of custom fields covers the query: such statements have their own names and connections
 * @returns undefined for a text that is rare, too long, or arrives when all names are used
 */
export function preparedStatementName(text: string, isIndexed = false): string | undefined {
  return (isIndexed ? indexed : shapes).of(text);
}

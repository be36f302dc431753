import { type AppError, appError } from '#errors';

export interface ListPlace {
  readonly at: string;
  readonly id: string;
}

/** `next`: null on the last page. */
export interface Page<Item> {
  readonly items: Item[];
  readonly next: string | null;
}

/** @param found the items of the page, and one more if another page follows */
export function pageOf<Item>(found: readonly Item[], limit: number, placeOf: (item: Item) => ListPlace): Page<Item> {
  const items = found.slice(0, limit);
  const last = found.length > limit ? items.at(-1) : undefined;
  if (last === undefined) return { items, next: null };
  return { items, next: cursorOf(placeOf(last)) };
}

/** Reads each page when it is requested. @param read the page after a place */
export async function* pagesOf<Item, Place>(
  read: (
    after: Place | undefined,
  ) => Promise<{ readonly items: readonly Item[]; readonly next: Place | null | undefined }>,
): AsyncGenerator<readonly Item[]> {
  let after: Place | undefined;
  do {
    const { items, next } = await read(after);
    yield items;
    after = next ?? undefined;
  } while (after !== undefined);
}

export function cursorOf({ at, id }: ListPlace): string {
  return `${at},${id}`;
}

interface Sealing {
  seal(plain: string, context: string): string;
  open(sealed: string, context: string): string;
}

/** An operator can neither read nor forge the cursor. @param list the only list for which it opens */
export function sealedCursor(place: unknown, sealer: Sealing, list: string): string {
  return sealer.seal(JSON.stringify(place), list);
}

/** @throws AppError INVALID_QUERY for a forged cursor, or one of another list */
export function openedCursor(cursor: string, sealer: Sealing, list: string): unknown {
  try {
    return JSON.parse(sealer.open(cursor, list));
  } catch {
    throw invalidCursor();
  }
}

const ID = /^[\w-]{1,64}$/;
export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function readCursor(text: string, idPattern = ID): ListPlace {
  const [at = '', id = '', ...rest] = text.split(',');
  if (!/^[\dTZ:.-]{24}$/.test(at) || Number.isNaN(Date.parse(at)) || !idPattern.test(id) || rest.length > 0)
    throw invalidCursor();
  return { at, id };
}

export function invalidCursor(): AppError {
  return appError('INVALID_QUERY', { message: 'after must be the value of next in an earlier page.' });
}

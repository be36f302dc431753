import { type AppError, appError } from '#errors';

/** The place of an item in a list in order of time and id. */
export interface ListPlace {
  readonly at: string;
  readonly id: string;
}

/** A page of a list. `next`: the cursor of the next page; null where none follows. */
export interface Page<Item> {
  readonly items: Item[];
  readonly next: string | null;
}

/** @param found the items of the page, and one more where another page follows */
export function pageOf<Item>(found: readonly Item[], limit: number, placeOf: (item: Item) => ListPlace): Page<Item> {
  const items = found.slice(0, limit);
  const last = found.length > limit ? items.at(-1) : undefined;
  if (last === undefined) return { items, next: null };
  return { items, next: cursorOf(placeOf(last)) };
}

/** Reads the pages of a list one after the other, each when it is asked for. @param read the page after a place */
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

/** The text that `readCursor` reads. */
export function cursorOf({ at, id }: ListPlace): string {
  return `${at},${id}`;
}

/** A `Sealer` of libs/security. */
interface Sealing {
  seal(plain: string, context: string): string;
  open(sealed: string, context: string): string;
}

/** A cursor that an operator can neither read nor invent. @param list whose cursor it is: it opens for no other list */
export function sealedCursor(place: unknown, sealer: Sealing, list: string): string {
  return sealer.seal(JSON.stringify(place), list);
}

/** The place of a sealed cursor. @throws AppError INVALID_QUERY for a cursor that was invented, or is of another list */
export function openedCursor(cursor: string, sealer: Sealing, list: string): unknown {
  try {
    return JSON.parse(sealer.open(cursor, list));
  } catch {
    throw invalidCursor();
  }
}

const ID = /^[\w-]{1,64}$/;
/** The pattern of ids that the database compares as UUID. */
export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The place that a cursor of `pageOf` names. @throws AppError INVALID_QUERY */
export function readCursor(text: string, idPattern = ID): ListPlace {
  const [at = '', id = '', ...rest] = text.split(',');
  if (!/^[\dTZ:.-]{24}$/.test(at) || Number.isNaN(Date.parse(at)) || !idPattern.test(id) || rest.length > 0)
    throw invalidCursor();
  return { at, id };
}

/** The error of a page after an unknown place. */
export function invalidCursor(): AppError {
  return appError('INVALID_QUERY', { message: 'after must be the value of next in an earlier page.' });
}

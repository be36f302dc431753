import { appError } from '#errors';

/** Where a page of a search ended. */
export interface Place {
  readonly key: string;
  readonly objectId: string;
}

/** A number of users; not exact where it is an estimate. */
export interface Total {
  readonly value: number;
  readonly isExact: boolean;
}

type SearchedField = 'any' | 'email' | 'id' | 'phone' | 'username';

/** The cursor after a page. It carries the total, which the first page alone counts. */
export function writePlace({ key, objectId }: Place, { value, isExact }: Total): string {
  return Buffer.from(JSON.stringify([key, objectId, value, isExact])).toString('base64url');
}

/** @throws AppError INVALID_QUERY */
export function readPlace(cursor: string): { readonly place: Place; readonly total: Total } {
  const parts = partsOf(cursor);
  const [key, objectId, value, isExact] = parts;
  if (typeof key !== 'string' || typeof objectId !== 'string' || !Number.isSafeInteger(value) || Number(value) < 0)
    throw appError('INVALID_QUERY', { message: 'after: is no cursor.' });
  return { place: { key, objectId }, total: { value: Number(value), isExact: isExact === true } };
}

function partsOf(cursor: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

/**
 * The field that a search looks in. Without the permission `users.contact` it looks in no address and no number, whose masked characters it
 * would reveal.
 * @throws AppError FORBIDDEN
 */
export function searchedIn(field: SearchedField, mayContact: boolean): SearchedField {
  if (mayContact || field === 'username' || field === 'id') return field;
  if (field === 'any') return 'username';
  throw appError('FORBIDDEN', { message: 'This needs the permission users.contact.' });
}

/** `a…@example.com` */
export function maskedEmail(email: string | null): string | null {
  return email === null ? null : email.replace(/^(.).*@/s, '$1…@');
}

/** `…0000`: the last four digits. */
export function maskedPhone(phone: string | null): string | null {
  return phone === null ? null : `…${phone.slice(-4)}`;
}

const EMAIL = /([^\s<>"'`(),:;[\]\\{}@])[^\s<>"'`(),:;[\]\\{}@]*@(?=[\p{L}\p{N}[])/gu;
const NUMBER = /\+?\d{3,}(\d{4})(?!\d)/g;

/** A text whose e-mail addresses, and numbers of seven digits or more, are masked. */
export function maskedText(text: string): string {
  return text.replace(EMAIL, '$1…@').replace(NUMBER, '…$1');
}

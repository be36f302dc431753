import type { Message } from '#console-api';
import { CONTACT_NAME, type JsonObject, type JsonValue, type ShownDelivery } from '#contracts';
import { appError } from '#errors';

type SearchedField = 'any' | 'email' | 'id' | 'phone' | 'username';

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Without `users.contact`, a search omits addresses and numbers: it would reveal their masked characters. @throws AppError FORBIDDEN */
export function searchedIn(field: SearchedField, mayContact: boolean): SearchedField {
  if (mayContact || field === 'username' || field === 'id') return field;
  if (field === 'any') return 'username';
  throw appError('FORBIDDEN', { message: 'This needs the permission users.contact.' });
}

/** `a…@example.com` */
function maskedEmail(email: string | null): string | null {
  return email === null ? null : email.replace(/^(.).*@/s, '$1…@');
}

/** `…0000`: the last four digits. */
function maskedPhone(phone: string | null): string | null {
  return phone === null ? null : `…${phone.slice(-4)}`;
}

function maskedName(name: string | null): string | null {
  if (name === null || !CONTACT_NAME.test(name)) return name;
  return name.includes('@') ? maskedEmail(name) : maskedPhone(name);
}

export function isContact(text: string | undefined): boolean {
  return text !== undefined && /^[\d+\s()-]{2,}$|@/.test(text);
}

/** `203.0.…`, `2001:db8:…`: the first two parts. */
function maskedNetwork(network: string): string {
  const separator = network.includes(':') ? ':' : '.';
  return [...network.split(separator).slice(0, 2), '…'].join(separator);
}

/** The forms in which an operator sees addresses, numbers, and names that can be either. */
export interface ContactMasks {
  readonly email: (email: string | null) => string | null;
  readonly phone: (phone: string | null) => string | null;
  readonly name: (name: string | null) => string | null;
  readonly network: (network: string) => string;
}

const asStored = <T>(value: T): T => value;
const NO_MASKS: ContactMasks = { email: asStored, phone: asStored, name: asStored, network: asStored };
const MASKS: ContactMasks = { email: maskedEmail, phone: maskedPhone, name: maskedName, network: maskedNetwork };

/** @param mayContact whether the operator has the permission `users.contact` */
export function contactMasks(mayContact: boolean): ContactMasks {
  return mayContact ? NO_MASKS : MASKS;
}

const EMAIL = /([^\s<>"'`(),:;[\]\\{}@])[^\s<>"'`(),:;[\]\\{}@]*@(?=[\p{L}\p{N}[])/gu;
const NUMBER = /\+?\d{3,}(\d{4})(?!\d)/g;

export function maskedText(text: string): string {
  return text.replace(EMAIL, '$1…@').replace(NUMBER, '…$1');
}

const PLAIN_MEMBERS = new Set([
  'appId',
  'changedAt',
  'deletedAt',
  'expiresAt',
  'kind',
  'languages',
  'purpose',
  'requestedAt',
  'ttlMinutes',
  'userId',
  'userUpdatedAt',
]);
const HIDDEN = '(hidden)';

/** Masks addresses and numbers in JSON; hides members that are not known to be harmless. */
export function maskedEvent(body: string): string {
  const event = parsed(body);
  if (typeof event !== 'object' || event === null || Array.isArray(event)) return HIDDEN;
  const members = Object.entries(event).map(([name, value]: [string, unknown]) => [name, maskedMember(name, value)]);
  return JSON.stringify(Object.fromEntries(members));
}

function maskedMember(name: string, value: unknown): unknown {
  if (value === null || PLAIN_MEMBERS.has(name)) return value;
  if (name === 'email' && typeof value === 'string') return maskedEmail(value);
  if (name === 'mobilePhoneNumber' && typeof value === 'string') return maskedPhone(value);
  return HIDDEN;
}

/** The values of these fields as changes that write them. A field that a path leads to comes as a whole. */
export function valuesOf(user: JsonObject, names: readonly string[]): JsonObject {
  const fields = [...new Set(names.map((name) => name.replace(/\..*/, '')))];
  return Object.fromEntries(
    fields.map((name) => [name, Object.hasOwn(user, name) ? (user[name] ?? null) : { __op: 'Delete' }]),
  );
}

const VERIFIED = { email: 'emailVerified', mobilePhoneNumber: 'mobilePhoneVerified' } as const;

export function formerValuesOf(user: JsonObject, names: readonly string[]): JsonObject {
  const flags = Object.entries(VERIFIED).filter(([name, flag]) => names.includes(name) && user[flag] === true);
  return valuesOf(user, [...names, ...flags.map(([, flag]) => flag)]);
}

export function textOrNull(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function maskedRecipient({ channel, recipient }: Pick<ShownDelivery, 'channel' | 'recipient'>): string {
  return (channel === 'mail' ? maskedEmail(recipient) : maskedPhone(recipient)) ?? '';
}

/** Masks addresses and numbers, which servers repeat in their replies. */
export function answerFor(
  delivery: Pick<ShownDelivery, 'channel' | 'recipient'>,
  answer: string | null,
  mayContact: boolean,
): string | null {
  if (answer === null || mayContact) return answer;
  return maskedText(answer.replaceAll(delivery.recipient, maskedRecipient(delivery)));
}

export function toMessage({ appId: _, attemptLog: __, ...delivery }: ShownDelivery, mayContact: boolean): Message {
  return {
    ...delivery,
    recipient: mayContact ? delivery.recipient : maskedRecipient(delivery),
    lastError: answerFor(delivery, delivery.lastError, mayContact),
  };
}

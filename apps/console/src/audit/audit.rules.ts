import { consoleApi, type ConsoleRoute, isExport, type Undo } from '#console-api';
import { LONG_COMMANDS } from '#contracts';
import type { AppError } from '#errors';
import type { AuditEntity } from './audit.entity.js';

export interface AuditFilter {
  readonly operatorId?: string | undefined;
  readonly appId?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  readonly outcome?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly after?: string | undefined;
  /** Only acts of this operator, and those on these applications, or on any; undefined: all. */
  readonly visible?:
    | { readonly operatorId: string; readonly appIds: readonly string[]; readonly everyApplication: boolean }
    | undefined;
}

/** An act that is open for longer was cut off. */
export const OPEN_FOR_MS = 60_000;
/** An export ends after this time; the client may be slow. */
export const MAX_EXPORT_MS = 3_600_000;
const MAX_COMMAND_MS = 24 * 3_600_000;
/** How long acts can last that are more than one request, in milliseconds by their names. */
export const LONG_ACTS: ReadonlyMap<string, number> = new Map([
  ...Object.entries<ConsoleRoute>(consoleApi)
    .filter(([, route]) => isExport(route))
    .map(([name]) => [name, MAX_EXPORT_MS] as const),
  ...LONG_COMMANDS.map((name) => [name, MAX_COMMAND_MS] as const),
]);

/** `isUndone`: a later act has done what `undo` says. */
export type StoredAudit = AuditEntity & { readonly isUndone: boolean };

export type ShownAudit = Omit<StoredAudit, 'begunAt' | 'endedAt'> & {
  readonly begunAt: string;
  readonly endedAt: string | null;
};

/** A service that has not answered may have done the act all the same. A query that takes too long can follow the write. */
export function outcomeOf(error: AppError, isRead = false): 'failed' | 'refused' | 'unknown' {
  if (error.is('SERVICE_UNAVAILABLE') || (error.is('QUERY_TIMED_OUT') && !isRead)) return 'unknown';
  return error.status < 500 ? 'refused' : 'failed';
}

const HIDDEN = '(changed)';

/** Members of requests that an entry must not hold, at any depth: the changes of a user can include them. */
const SECRET_MEMBERS = new Set([
  'authData',
  'code',
  'newPassword',
  'oldPassword',
  'password',
  'response',
  'sessionToken',
  'token',
]);
/** Fields of a device that let their reader receive its messages, or send to it. No operator sees them. */
export const DEVICE_ADDRESSES = ['deviceToken', 'installationId', 'registrationId', 'webPush'];

/** Whether the name of a field, or the path of a part of it, addresses a device. */
export function isDeviceAddress(name: string): boolean {
  return DEVICE_ADDRESSES.includes(name.split('.', 1)[0] ?? '');
}

/** JSON text of a change, above which long values are cut. */
const MAX_CHANGE_LENGTH = 65_536;
const MAX_TEXT_LENGTH = 200;
const MAX_ITEMS = 50;
const MAX_DEPTH = 3;

/** The body of a request as an entry holds it: passwords, tokens, credentials, and the addresses of devices as `(changed)`. */
export function changeOf(
  body: Readonly<Record<string, unknown>>,
  isSecret: (name: string) => boolean = () => false,
): Record<string, unknown> {
  const change = Object.entries(body).map(([name, value]) => [name, isSecret(name) ? HIDDEN : value]);
  return bounded(withoutSecrets(Object.fromEntries(change)) as Record<string, unknown>);
}

function withoutSecrets(value: unknown): unknown {
  const isSecret = (name: string) => name.split('.').some((part) => SECRET_MEMBERS.has(part));
  return replaced(withoutAddresses(value, HIDDEN), HIDDEN, isSecret);
}

/** JSON, such as a condition, with a text in place of the values that address devices, also where another member has one. */
export function withoutAddresses(value: unknown, text: string): unknown {
  const addresses = new Set<unknown>(addressesIn(value));
  return replaced(value, text, (name, member) => isDeviceAddress(name) || addresses.has(member));
}

function addressesIn(value: unknown, isAddress = false): string[] {
  if (typeof value === 'string') return isAddress ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => addressesIn(member, isAddress || isDeviceAddress(name)));
}

function replaced(value: unknown, text: string, isHidden: (name: string, member: unknown) => boolean): unknown {
  const json = JSON.stringify(value, (name, member: unknown) => (isHidden(name, member) ? text : member));
  return JSON.parse(json) as unknown;
}

/** @returns null where an entry would hold another text for a secret or a long value */
export function storableUndo(undo: Undo): Undo | null {
  return JSON.stringify(changeOf(undo.body)) === JSON.stringify(undo.body) ? undo : null;
}

/** A value that is small enough for an entry. Long texts and lists are cut and give their length; names and short values stay. */
export function bounded(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (JSON.stringify(value).length <= MAX_CHANGE_LENGTH) return { ...value };
  const cut = membersCut(value, MAX_DEPTH);
  if (JSON.stringify(cut).length <= MAX_CHANGE_LENGTH) return cut;
  return membersCut(value, 0);
}

/** @param depth of the objects that stay */
function membersCut(value: object, depth: number): Record<string, unknown> {
  const members: [string, unknown][] = Object.entries(value);
  const kept = members
    .slice(0, MAX_ITEMS)
    .map(([name, member]) => [name.slice(0, MAX_TEXT_LENGTH).toWellFormed(), cutOff(member, depth)]);
  const rest = members.length > MAX_ITEMS ? { '(more)': members.length - MAX_ITEMS } : {};
  return { ...(Object.fromEntries(kept) as Record<string, unknown>), ...rest };
}

function cutOff(value: unknown, depth: number): unknown {
  if (typeof value === 'string' && value.length > MAX_TEXT_LENGTH)
    return `${value.slice(0, MAX_TEXT_LENGTH).toWellFormed()}… (${value.length} characters)`;
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return `(${JSON.stringify(value).length} characters)`;
  if (!Array.isArray(value)) return membersCut(value, depth - 1);
  const items = value.slice(0, MAX_ITEMS).map((item) => cutOff(item, depth - 1));
  return value.length > MAX_ITEMS ? [...items, `(${value.length - MAX_ITEMS} more)`] : items;
}

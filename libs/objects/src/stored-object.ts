import { randomBytes } from 'node:crypto';
import type { JsonObject, JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';

/** 24 hexadecimal digits that start with the time in seconds, so that new rows are adjacent in indexes. */
export function newObjectId(now: Date): string {
  const seconds = Math.floor(now.getTime() / 1000) >>> 0;
  return seconds.toString(16).padStart(8, '0') + randomBytes(8).toString('hex');
}

export class NameTree extends Map<string, NameTree> {
  static of(paths: readonly string[]): NameTree {
    const tree = new NameTree();
    for (const path of paths) {
      let level = tree;
      for (const name of path.split('.')) level = level.#below(name);
    }
    return tree;
  }

  #below(name: string): NameTree {
    const below = this.get(name) ?? new NameTree();
    this.set(name, below);
    return below;
  }
}

/** Included whatever `keys` selects, because SDKs require them. */
const ALWAYS_SHOWN = ['objectId', 'createdAt', 'updatedAt'];
const TYPE_KEYS = ['__type', 'className', 'objectId'];

/** Names may be paths. A leading minus excludes a field; where both kinds occur, only the exclusions apply. */
export function pickKeys(object: JsonObject, keys: readonly string[] | undefined): JsonObject {
  if (keys === undefined || keys.length === 0) return object;
  const excluded = keys.filter((key) => key.startsWith('-')).map((key) => key.slice(1));
  if (excluded.length === 0) return keep(object, NameTree.of([...keys, ...ALWAYS_SHOWN]));
  return drop(object, NameTree.of(excluded.filter((key) => !ALWAYS_SHOWN.includes(key))));
}

function keep(object: JsonObject, wanted: NameTree): JsonObject {
  return mapMembers(object, (value, name) => {
    const below = wanted.get(name);
    if (below === undefined) return undefined;
    return below.size === 0 ? value : within(value, (inner) => keep(inner, withTypes(inner, below)));
  });
}

function drop(object: JsonObject, unwanted: NameTree): JsonObject {
  return mapMembers(object, (value, name) => {
    const below = unwanted.get(name);
    if (below === undefined) return value;
    return below.size === 0 ? undefined : within(value, (inner) => drop(inner, below));
  });
}

function mapMembers(object: JsonObject, map: (value: JsonValue, name: string) => JsonValue | undefined): JsonObject {
  const members = Object.entries(object).map(([name, value]) => [name, map(value, name)] as const);
  return Object.fromEntries(members.filter((member): member is [string, JsonValue] => member[1] !== undefined));
}

/** A path leads into objects, and into the objects of a list. */
function within(value: JsonValue, pick: (object: JsonObject) => JsonObject): JsonValue {
  if (Array.isArray(value)) return value.map((item) => within(item, pick));
  return typeof value === 'object' && value !== null ? pick(value) : value;
}

function withTypes(object: JsonObject, tree: NameTree): NameTree {
  if (!Object.hasOwn(object, '__type')) return tree;
  return new NameTree([...tree, ...TYPE_KEYS.map((name): [string, NameTree] => [name, new NameTree()])]);
}

/** The time of a change. The clocks of replicas differ, so that the result is always later than the previous time. */
export function touched({ updatedAt }: { readonly updatedAt: Date }, now: Date): { updatedAt: Date } {
  return { updatedAt: now > updatedAt ? now : new Date(updatedAt.getTime() + 1) };
}

/** Whether a request omits a member: SDKs also send `null` or the empty text for this. */
export function isAbsent(value: JsonValue | undefined): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

export function readOnlyKey(key: string): AppError {
  return appError('READ_ONLY_KEY', { message: `The key is read only: ${key}.` });
}

export function assertObjectSize(fields: JsonObject, limitBytes: number): void {
  if (storedBytes(fields) <= limitBytes) return;
  throw appError('OBJECT_TOO_LARGE', { message: `The fields of the object may have at most ${limitBytes} bytes.` });
}

/** An exponent of a number in a JSON text, unless the text has it in a string. */
const EXPONENT = /\de[+-]\d/;

/** The size of a JSON column. PostgreSQL writes numbers without exponents: 1e308 has 309 bytes. */
export function storedBytes(value: JsonObject): number {
  const text = JSON.stringify(value);
  return Buffer.byteLength(text) + (EXPONENT.test(text) ? zerosOf(value) : 0);
}

function zerosOf(value: JsonValue): number {
  if (typeof value === 'number') return Math.abs(Number(String(value).split('e')[1] ?? 0));
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, member) => sum + zerosOf(member), 0);
}

export function changedFields(whole: JsonObject, names: readonly string[]): JsonObject {
  const shown = new Set(['objectId', 'updatedAt', ...names]);
  return Object.fromEntries(Object.entries(whole).filter(([name]) => shown.has(name)));
}

/** Each id once, sorted, so that concurrent requests for the same objects cannot deadlock. */
export function inLockOrder(objectIds: readonly string[]): string[] {
  return [...new Set(objectIds)].sort();
}

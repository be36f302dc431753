import type { JsonObject, JsonValue } from '#contracts';
import { NameTree } from './name-tree.js';

/** Shown whatever `keys` says: SDKs cannot do without them. */
const ALWAYS_SHOWN = ['objectId', 'createdAt', 'updatedAt'];
/** What makes a value what it is. */
const TYPE_KEYS = ['__type', 'className', 'objectId'];

/**
 * The fields that the parameter `keys` asks for; names may be paths. With a leading minus: all fields but those. Where both
 * kinds come together, those with a minus count.
 */
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

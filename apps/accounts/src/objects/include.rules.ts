import type { JsonObject, JsonValue } from '#contracts';
import { appError } from '#errors';
import { isFieldName, isJsonObject, NameTree } from '#objects';
import type { StoredClassName } from './reading.types.js';

const MAX_PATHS = 10;
const MAX_DEPTH = 3;

/** A Pointer within an answer to an object of ours. `replace` puts something in its place. */
export interface PointerSpot {
  readonly className: StoredClassName;
  readonly objectId: string;
  readonly replace: (value: JsonObject) => void;
}

/**
 * Reads the parameter `include`: paths of fields, separated by commas. What several of them lead through is included once.
 * @throws AppError INVALID_QUERY, INVALID_KEY_NAME
 */
export function parseInclude(include: string | undefined): NameTree {
  const paths = (include ?? '')
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '');
  const names = paths.map((path) => path.split('.'));
  if (paths.length > MAX_PATHS || names.some(({ length }) => length > MAX_DEPTH)) {
    const message = `include may hold ${MAX_PATHS} paths of ${MAX_DEPTH} names at most.`;
    throw appError('INVALID_QUERY', { message });
  }
  if (!names.flat().every(isFieldName)) throw appError('INVALID_KEY_NAME');
  return NameTree.of(paths);
}

/** The Pointers to our classes in the named fields of the objects, those in lists included. */
export function pointersAt(objects: readonly JsonObject[], field: string): PointerSpot[] {
  return objects.flatMap((object) => {
    const value = valueAt(object, field);
    if (Array.isArray(value)) return value.flatMap((item, index) => spotOf(item, (found) => (value[index] = found)));
    return spotOf(value, (found) => (object[field] = found));
  });
}

/** The objects in the named fields, through which a path goes on. */
export function objectsAt(objects: readonly JsonObject[], field: string): JsonObject[] {
  return objects.flatMap((object) => {
    const value = valueAt(object, field);
    return (Array.isArray(value) ? value : [value]).filter(isJsonObject);
  });
}

function valueAt(object: JsonObject, field: string): JsonValue | undefined {
  return Object.hasOwn(object, field) ? object[field] : undefined;
}

function spotOf(value: JsonValue | undefined, replace: (found: JsonObject) => void): PointerSpot[] {
  if (!isJsonObject(value) || value['__type'] !== 'Pointer') return [];
  const { className, objectId } = value;
  if ((className !== '_User' && className !== '_Role') || typeof objectId !== 'string') return [];
  return [{ className, objectId, replace }];
}

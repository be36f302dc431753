import type { JsonObject, JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';
import { isJsonObject } from '#object-values';
import { applyOperation } from './apply-operation.js';
import type { FieldChange } from './change.js';
import { inField } from './in-field.js';

type Container = JsonObject | JsonValue[];

const INDEX = /^(?:0|[1-9]\d{0,8})$/;

/**
 * A new document with the changes applied in their order; the given one stays as it is.
 * @throws AppError INCORRECT_TYPE where a change does not fit what is there
 */
export function applyChanges(document: JsonObject, changes: readonly FieldChange[]): JsonObject {
  const draft = structuredClone(document);
  for (const change of changes) {
    inField(change.path[0], () => {
      applyChange(draft, change);
    });
  }
  return draft;
}

function applyChange(draft: JsonObject, { path, operation }: FieldChange): void {
  let container: Container = draft;
  for (const [level, name] of path.entries()) {
    const current = memberOf(container, name);
    const below = path.slice(level + 1);
    if (below.length === 0 || current === undefined) {
      const value = applyOperation(operation, current);
      replace(container, name, value === undefined ? undefined : nest(value, below));
      return;
    }
    container = asContainer(current);
  }
}

/** The value in objects of the given names, the outermost first. */
function nest(value: JsonValue, names: readonly string[]): JsonValue {
  return names.reduceRight((inner, name) => ({ [name]: inner }), value);
}

function memberOf(container: Container, name: string): JsonValue | undefined {
  if (Array.isArray(container)) return container[indexOf(name, container)];
  return Object.hasOwn(container, name) ? container[name] : undefined;
}

function replace(container: Container, name: string, value: JsonValue | undefined): void {
  if (Array.isArray(container)) {
    if (value === undefined) throw incorrect('An element of a list is taken away by Remove.');
    container[indexOf(name, container)] = value;
  } else if (value === undefined) {
    Reflect.deleteProperty(container, name);
  } else {
    container[name] = value;
  }
}

/** Only an element that is there can be named: lists grow by Add. */
function indexOf(name: string, list: readonly JsonValue[]): number {
  const index = INDEX.test(name) ? Number(name) : -1;
  if (index < 0 || index >= list.length) throw incorrect('The list has no such element.');
  return index;
}

/** Typed values are whole: nothing is changed within a Date or a Pointer. */
function asContainer(value: JsonValue): Container {
  if (Array.isArray(value) || (isJsonObject(value) && !Object.hasOwn(value, '__type'))) return value;
  throw incorrect('A key leads into a value that is no object.');
}

function incorrect(message: string): AppError {
  return appError('INCORRECT_TYPE', { message });
}

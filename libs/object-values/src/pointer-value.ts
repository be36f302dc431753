import type { JsonObject, JsonValue } from '#contracts';
import { appError } from '#errors';
import { isJsonObject } from './json-object.js';

/** Which object a Pointer means. */
export interface Pointer {
  readonly className: string;
  readonly objectId: string;
}

const CLASS_NAME = /^_?[A-Za-z][A-Za-z0-9_]{0,127}$/;
const OBJECT_ID = /^[A-Za-z0-9]{1,64}$/;
const POINTER_TYPES = new Set<unknown>(['Pointer', 'Object']);

/** Reads a Pointer, or a whole object (`Object`) as a Pointer to it. @throws AppError MALFORMED_POINTER */
export function parsePointer(value: JsonValue | undefined): Pointer {
  const { __type: type, className, objectId } = isJsonObject(value) ? value : ({} as JsonObject);
  if (!POINTER_TYPES.has(type) || !isText(className, CLASS_NAME) || !isText(objectId, OBJECT_ID))
    throw appError('MALFORMED_POINTER');
  return { className, objectId };
}

function isText(value: JsonValue | undefined, form: RegExp): value is string {
  return typeof value === 'string' && form.test(value);
}

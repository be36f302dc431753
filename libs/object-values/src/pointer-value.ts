import { isObjectId, type JsonObject, type JsonValue } from '#contracts';
import { appError } from '#errors';
import { isJsonObject } from './json-object.js';

/** Which object a Pointer means. */
export interface Pointer {
  readonly className: string;
  readonly objectId: string;
}

const CLASS_NAME = /^_?[A-Za-z][A-Za-z0-9_]{0,127}$/;
const POINTER_TYPES = new Set<unknown>(['Pointer', 'Object']);

/** Reads a Pointer, or a whole object (`Object`) as a Pointer to it. @throws AppError MALFORMED_POINTER */
export function parsePointer(value: JsonValue | undefined): Pointer {
  const { __type: type, className, objectId } = isJsonObject(value) ? value : ({} as JsonObject);
  if (!POINTER_TYPES.has(type) || typeof className !== 'string' || typeof objectId !== 'string')
    throw appError('MALFORMED_POINTER');
  if (!CLASS_NAME.test(className) || !isObjectId(objectId)) throw appError('MALFORMED_POINTER');
  return { className, objectId };
}

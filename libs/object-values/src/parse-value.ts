import type { JsonObject, JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';
import { dateOf } from './date-value.js';
import { assertNestedKey } from './field-name.js';
import { geoPointOf } from './geo-point-value.js';
import { isJsonObject } from './json-object.js';
import { parsePointer } from './pointer-value.js';
import { isStorableText } from './storable-text.js';

const MAX_NESTING = 32;

const typedValues = new Map<JsonValue, (value: JsonObject, depth: number) => JsonObject>([
  ['Date', parseDate],
  ['Pointer', toPointer],
  ['Object', toPointer],
  ['GeoPoint', parseGeoPoint],
  ['Bytes', parseBytes],
  ['File', parseFile],
  ['Relation', refuseRelation],
]);

/**
 * Reads a value that shall be stored, and brings its typed values into their one form, so that equal ones are stored alike.
 * @param depth how many levels of its field lie above the value
 * @throws AppError INCORRECT_TYPE where it cannot be stored or is of an unknown type; INVALID_KEY_NAME,
 *   INVALID_NESTED_KEY for a name in it; MALFORMED_POINTER
 */
export function parseValue(value: JsonValue, depth = 0): JsonValue {
  if (depth > MAX_NESTING) throw incorrect(`Values may be nested ${MAX_NESTING} levels deep at most.`);
  if (Array.isArray(value)) return value.map((item) => parseValue(item, depth + 1));
  if (isJsonObject(value)) return parseObject(value, depth);
  assertStorableScalar(value);
  return value;
}

function parseObject(value: JsonObject, depth: number): JsonObject {
  const type = value['__type'];
  if (type === undefined) return parseMembers(value, depth);
  const parse = typedValues.get(type);
  if (parse === undefined) throw incorrect('Unknown __type.');
  return parse(value, depth);
}

function parseMembers(value: JsonObject, depth: number): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      assertNestedKey(key);
      if (key === '__op') throw incorrect('Operations cannot be nested.');
      return [key, parseValue(item, depth + 1)];
    }),
  );
}

function parseDate(value: JsonObject): JsonObject {
  const date = dateOf(value);
  if (date === undefined) throw incorrect('A Date has an ISO 8601 time of the years 1 to 9999.');
  return { __type: 'Date', iso: date.toISOString() };
}

function toPointer(value: JsonObject): JsonObject {
  return { __type: 'Pointer', ...parsePointer(value) };
}

function parseGeoPoint(value: JsonObject): JsonObject {
  const point = geoPointOf(value);
  if (point === undefined) throw incorrect('A GeoPoint has a latitude of -90 to 90 and a longitude of -180 to 180.');
  return { __type: 'GeoPoint', ...point };
}

/** Some encoders break lines. */
function parseBytes({ base64 }: JsonObject): JsonObject {
  const text = typeof base64 === 'string' ? base64.replaceAll(/[\r\n]/g, '') : undefined;
  if (text === undefined || Buffer.from(text, 'base64').toString('base64') !== text)
    throw incorrect('Bytes are given in base64.');
  return { __type: 'Bytes', base64: text };
}

/** Files live elsewhere: what the client knows of one is kept as it is. */
function parseFile(value: JsonObject, depth: number): JsonObject {
  const id = value['id'] ?? value['objectId'];
  if (typeof id !== 'string' || id === '') throw incorrect('A File has an id.');
  return parseMembers(value, depth);
}

function refuseRelation(): never {
  throw incorrect('A relation is changed by AddRelation and RemoveRelation, it cannot be set.');
}

function assertStorableScalar(value: string | number | boolean | null): void {
  if (typeof value === 'string' && !isStorableText(value))
    throw incorrect('Strings must be valid Unicode without NUL characters.');
  if (typeof value === 'number' && !Number.isFinite(value)) throw incorrect('Numbers must be finite.');
}

function incorrect(message: string): AppError {
  return appError('INCORRECT_TYPE', { message });
}

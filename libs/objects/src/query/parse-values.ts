import type { JsonObject, JsonValue } from '#contracts';
import { AppError, appError } from '#errors';
import { type GeoPoint, geoPointOf, isJsonObject, parseValue } from '../values.js';
import { LIMITS, type FieldTestOf, invalidQuery, parsePath, type SortKey } from './query.js';

/** Parses an `order` such as `age,-address.city`. @throws AppError INVALID_QUERY, INVALID_KEY_NAME */
export function parseOrder(order: string | undefined): SortKey[] {
  const keys = (order ?? '')
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
  if (keys.length > LIMITS.sortKeys) throw invalidQuery(`order may have at most ${LIMITS.sortKeys} keys.`);
  return keys.map(parseSortKey);
}

function parseSortKey(key: string): SortKey {
  const isDescending = key.startsWith('-');
  return { field: parsePath(isDescending ? key.slice(1) : key), direction: isDescending ? 'DESC' : 'ASC' };
}

export function parseQueryValue(value: JsonValue): JsonValue {
  try {
    return parseValue(value);
  } catch (error) {
    if (!(error instanceof AppError) || error.is('MALFORMED_POINTER')) throw error;
    throw invalidQuery(error.message);
  }
}

export function parseQueryValues(operator: string, list: JsonValue): readonly JsonValue[] {
  if (!Array.isArray(list)) throw invalidQuery(`${operator} needs a list.`);
  if (list.length > LIMITS.listValues)
    throw invalidQuery(`${operator} needs a list of at most ${LIMITS.listValues} values.`);
  return list.map((value) => parseQueryValue(value));
}

/** Units of distance per radian on a sphere with the earth's mean radius. */
const UNITS_PER_RADIAN = new Map([
  ['', 1],
  ['InRadians', 1],
  ['InKilometers', 6_371],
  ['InMiles', 3_958.8],
]);
type DistanceBound = '$minDistance' | '$maxDistance';

export const DISTANCE_BOUNDS = (['$minDistance', '$maxDistance'] as const).flatMap((bound) =>
  [...UNITS_PER_RADIAN.keys()].map((unit) => `${bound}${unit}`),
);

/** Parses `$nearSphere` and its distances; the narrowest of several bounds counts. @throws AppError GEO_POINT_QUERY, INVALID_QUERY */
export function parseNear(value: JsonValue, operators: JsonObject): FieldTestOf<'isNear'> {
  const [atLeast, atMost] = [distancesOf('$minDistance', operators), distancesOf('$maxDistance', operators)];
  return {
    kind: 'isNear',
    point: parsePoint(value),
    minRadians: atLeast.length === 0 ? undefined : Math.max(...atLeast),
    maxRadians: atMost.length === 0 ? undefined : Math.min(...atMost),
  };
}

function distancesOf(bound: DistanceBound, operators: JsonObject): number[] {
  return [...UNITS_PER_RADIAN]
    .map(([unit, perRadian]) => ({ name: `${bound}${unit}`, perRadian }))
    .filter(({ name }) => Object.hasOwn(operators, name))
    .map(({ name, perRadian }) => parseDistance(name, operators[name]) / perRadian);
}

export function parseBox(value: JsonValue): FieldTestOf<'isWithin'> {
  const { $box: corners, ...rest } = isJsonObject(value) ? value : {};
  if (!Array.isArray(corners) || corners.length !== 2 || Object.keys(rest).length > 0)
    throw invalidQuery('$within needs a $box of two GeoPoints.');
  const [southwest, northeast] = [parsePoint(corners[0]), parsePoint(corners[1])];
  if (southwest.latitude > northeast.latitude)
    throw appError('GEO_POINT_QUERY', { message: 'The first corner of a $box must be the south-western one.' });
  return { kind: 'isWithin', southwest, northeast };
}

function parsePoint(value: JsonValue | undefined): GeoPoint {
  const point = geoPointOf(value);
  if (point === undefined) {
    throw appError('GEO_POINT_QUERY', {
      message: 'A GeoPoint needs a latitude of -90 to 90 and a longitude of -180 to 180.',
    });
  }
  return point;
}

function parseDistance(name: string, value: JsonValue | undefined): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
    throw invalidQuery(`${name} needs a distance.`);
  return value;
}

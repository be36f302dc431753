import type { JsonObject, JsonValue } from '#contracts';
import { appError } from '#errors';
import { type GeoPoint, geoPointOf, isJsonObject } from '#object-values';
import { invalidQuery } from './bounds.js';
import type { FieldTestOf } from './query.js';

/** How much of a unit of distance is one radian on the mean earth. */
const UNITS_PER_RADIAN = new Map([
  ['$maxDistance', 1],
  ['$maxDistanceInRadians', 1],
  ['$maxDistanceInKilometers', 6_371],
  ['$maxDistanceInMiles', 3_958.8],
]);

/** Reads `$nearSphere` and the distances beside it; with several the shortest counts. @throws AppError GEO_POINT_QUERY, INVALID_QUERY */
export function parseNear(value: JsonValue, operators: JsonObject): FieldTestOf<'isNear'> {
  const radians = [...UNITS_PER_RADIAN]
    .filter(([name]) => Object.hasOwn(operators, name))
    .map(([name, units]) => parseDistance(name, operators[name]) / units);
  return {
    kind: 'isNear',
    point: parsePoint(value),
    maxRadians: radians.length === 0 ? undefined : Math.min(...radians),
  };
}

/** Reads `$within`: a box of a south-western and a north-eastern corner. @throws AppError GEO_POINT_QUERY, INVALID_QUERY */
export function parseBox(value: JsonValue): FieldTestOf<'isWithin'> {
  const { $box: corners, ...rest } = isJsonObject(value) ? value : {};
  if (!Array.isArray(corners) || corners.length !== 2 || Object.keys(rest).length > 0)
    throw invalidQuery('$within takes a $box of two GeoPoints.');
  const [southwest, northeast] = [parsePoint(corners[0]), parsePoint(corners[1])];
  if (southwest.latitude > northeast.latitude)
    throw appError('GEO_POINT_QUERY', { message: 'The first corner of a $box is the south-western one.' });
  return { kind: 'isWithin', southwest, northeast };
}

function parsePoint(value: JsonValue | undefined): GeoPoint {
  const point = geoPointOf(value);
  if (point === undefined) {
    throw appError('GEO_POINT_QUERY', {
      message: 'A GeoPoint has a latitude of -90 to 90 and a longitude of -180 to 180.',
    });
  }
  return point;
}

function parseDistance(name: string, value: JsonValue | undefined): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
    throw invalidQuery(`${name} takes a distance.`);
  return value;
}

import type { CompileContext } from './compile-context.js';
import { jsonAt } from './compile-value.js';
import type { Condition, FieldPath, FieldTestOf } from './query.js';

/** The condition that a place is not too far away. */
export function isAtMostAway(test: FieldTestOf<'isNear'>, path: FieldPath, context: CompileContext): string {
  const distance = distanceTo(test, path, context);
  const { maxRadians } = test;
  return maxRadians === undefined
    ? `${distance} IS NOT NULL`
    : `${distance} <= ${context.statement.bind(maxRadians)}::float8`;
}

/** The condition that a place is in a box. A box whose west lies east of its east goes over the date line. */
export function isWithinBox(
  { southwest, northeast }: FieldTestOf<'isWithin'>,
  path: FieldPath,
  context: CompileContext,
): string {
  const bind = (degrees: number) => `${context.statement.bind(degrees)}::float8`;
  return ofPlace(path, context, ({ latitude, longitude }) => {
    const isWithinHeight = `${latitude} BETWEEN ${bind(southwest.latitude)} AND ${bind(northeast.latitude)}`;
    const [isEast, isWest] = [
      `${longitude} >= ${bind(southwest.longitude)}`,
      `${longitude} <= ${bind(northeast.longitude)}`,
    ];
    const goesOverDateLine = southwest.longitude > northeast.longitude;
    return `${isWithinHeight} AND (${isEast} ${goesOverDateLine ? 'OR' : 'AND'} ${isWest})`;
  });
}

/** The distance by which rows are ordered, where the query asks what is near: nearest first. */
export function orderByDistance(where: Condition, context: CompileContext): string[] {
  const near = findNear(where);
  return near === undefined ? [] : [`${distanceTo(near.test, near.field, context)} ASC`];
}

interface NearCondition {
  readonly field: FieldPath;
  readonly test: FieldTestOf<'isNear'>;
}

function findNear(where: Condition): NearCondition | undefined {
  if (where.kind === 'and') return where.conditions.map(findNear).find((near) => near !== undefined);
  return where.kind === 'field' && where.test.kind === 'isNear' ? { field: where.field, test: where.test } : undefined;
}

/** By the haversine formula, in radians; NULL where the field holds no place. Rounding must not leave the domain of its functions. */
function distanceTo({ point }: FieldTestOf<'isNear'>, path: FieldPath, context: CompileContext): string {
  const bind = (degrees: number) => `${context.statement.bind(degrees)}::float8`;
  const square = (degrees: string) => `power(sin(radians(${degrees}) / 2), 2)`;
  return ofPlace(path, context, ({ latitude, longitude }) => {
    const toLatitude = bind(point.latitude);
    const byLatitude = square(`${latitude} - ${toLatitude}`);
    const byLongitude = square(`${longitude} - ${bind(point.longitude)}`);
    const haversine = `${byLatitude} + cos(radians(${latitude})) * cos(radians(${toLatitude})) * ${byLongitude}`;
    return `2 * asin(sqrt(least(1, greatest(0, ${haversine}))))`;
  });
}

/** An expression of the two angles of the place at a path; NULL where there is none. */
function ofPlace(
  path: FieldPath,
  context: CompileContext,
  expression: (place: { latitude: string; longitude: string }) => string,
): string {
  const value = jsonAt(path, context);
  const [latitude, longitude] = [`(${value} -> 'latitude')`, `(${value} -> 'longitude')`];
  const isNumber = (json: string) => `jsonb_typeof(${json}) = 'number'`;
  const isPlace = `${value} @> '{"__type": "GeoPoint"}' AND ${isNumber(latitude)} AND ${isNumber(longitude)}`;
  const of = expression({ latitude: `${latitude}::float8`, longitude: `${longitude}::float8` });
  return `CASE WHEN ${isPlace} THEN ${of} END`;
}

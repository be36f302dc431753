import type { JsonValue } from '#contracts';
import { isJsonObject } from './json-object.js';

/** A place, in degrees: latitude -90 to 90, longitude -180 to 180. */
export interface GeoPoint {
  readonly latitude: number;
  readonly longitude: number;
}

/** The place that a GeoPoint value means; undefined where it means none. */
export function geoPointOf(value: JsonValue | undefined): GeoPoint | undefined {
  if (!isJsonObject(value) || value['__type'] !== 'GeoPoint') return undefined;
  const { latitude, longitude } = value;
  return isWithin(latitude, 90) && isWithin(longitude, 180) ? { latitude, longitude } : undefined;
}

function isWithin(value: JsonValue | undefined, degrees: number): value is number {
  return typeof value === 'number' && Math.abs(value) <= degrees;
}

import type { JsonObject, JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';

/** The requests of a batch's body. @throws AppError MALFORMED_JSON where there is no list of them, or one that is too long */
export function requestsOf({ requests }: JsonObject, max: number): JsonValue[] {
  if (!Array.isArray(requests)) throw malformed('A batch needs "requests", a list.');
  if (requests.length > max) throw malformed(`A batch may hold ${max} requests at most.`);
  return requests;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A body that is no batch, or a request that is none. */
export function malformed(message: string): AppError {
  return appError('MALFORMED_JSON', { message });
}

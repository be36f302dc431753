import type { JsonObject, JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';

/** The time of a change. Clocks of replicas differ: no change makes an object look older. */
export function touched({ updatedAt }: { readonly updatedAt: Date }, now: Date): { updatedAt: Date } {
  return { updatedAt: now > updatedAt ? now : new Date(updatedAt.getTime() + 1) };
}

/** Whether a request leaves a member out: SDKs send `null` and the empty text for it too. */
export function isAbsent(value: JsonValue | undefined): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

/** The refusal of a field that a request cannot set. */
export function readOnlyKey(key: string): AppError {
  return appError('READ_ONLY_KEY', { message: `The key is read only: ${key}.` });
}

/** @throws AppError OBJECT_TOO_LARGE */
export function assertObjectSize(fields: JsonObject, limitBytes: number): void {
  if (Buffer.byteLength(JSON.stringify(fields)) > limitBytes) throw appError('OBJECT_TOO_LARGE');
}

/** What a write named, with the values it has now, and the id. */
export function changedFields(whole: JsonObject, names: readonly string[]): JsonObject {
  const shown = new Set(['objectId', 'updatedAt', ...names]);
  return Object.fromEntries(Object.entries(whole).filter(([name]) => shown.has(name)));
}

/** Each id once, in an order in which two requests for the same objects cannot wait for each other. */
export function inLockOrder(objectIds: readonly string[]): string[] {
  return [...new Set(objectIds)].sort();
}

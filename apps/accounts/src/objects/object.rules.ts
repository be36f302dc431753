import type { JsonObject } from '#contracts';
import { appError } from '#errors';

/** The time of a change. Clocks of replicas differ: no change makes an object look older. */
export function touched({ updatedAt }: { readonly updatedAt: Date }, now: Date): { updatedAt: Date } {
  return { updatedAt: now > updatedAt ? now : new Date(updatedAt.getTime() + 1) };
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

const NOTE_INTERVAL_MS = 60_000;

/**
 * Whether a login that brings nothing new moves `updatedAt` (decisions, updatedAt of a login). A write for every login would
 * cost more than all the rest of it; a new user's first login always counts.
 */
export function isNoteDue(
  { createdAt, updatedAt }: { readonly createdAt: Date; readonly updatedAt: Date },
  now: Date,
): boolean {
  return updatedAt <= createdAt || now.getTime() - updatedAt.getTime() >= NOTE_INTERVAL_MS;
}

const SHORTEST_MS = 60_000;
const LONGEST_MS = 6 * 3_600_000;
/** Acknowledgements of messages that left in time may come a little after the expiry. */
const GRACE_MS = 60_000;

/** When a push is tallied next: ever more seldom, and for the last time soon after its expiry. @returns undefined after that */
export function nextTallyAt(push: { readonly createdAt: Date; readonly expiresAt: Date }, now: Date): Date | undefined {
  const last = push.expiresAt.getTime() + GRACE_MS;
  if (now.getTime() >= last) return undefined;
  const age = now.getTime() - push.createdAt.getTime();
  return new Date(Math.min(last, now.getTime() + Math.min(LONGEST_MS, Math.max(SHORTEST_MS, age))));
}

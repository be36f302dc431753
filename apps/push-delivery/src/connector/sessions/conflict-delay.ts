const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;

/**
 * How long a login waits for its answer. One device that comes back while its old connection still seems to live has one
 * conflict; two that have the same id end each other again and again, later and later.
 */
export function conflictDelayMs(conflicts: number): number {
  return conflicts <= 1 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** (conflicts - 2));
}

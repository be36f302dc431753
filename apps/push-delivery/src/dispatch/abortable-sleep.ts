import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves after the time, or at once when the signal comes. */
export async function abortableSleep(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

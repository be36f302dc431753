import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 20;

/**
 * Tries again until `attempt` does not throw, and returns what it returned.
 * @throws the last failure, after the time is over
 */
export async function eventually<T>(attempt: () => T | Promise<T>, timeoutMs = 10_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await sleep(POLL_MS);
  }
}

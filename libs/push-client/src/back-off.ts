import type { BackOffOptions } from './push-client.types.js';

const BASE_MS = 1_000;
const MAX_MS = 120_000;

/** The state when a connection, or a connection attempt, has ended. */
export interface Setback {
  /** Failed attempts in a row, this one included; 0 after a stable connection. */
  readonly failures: number;
  /** The pause that the server requested. */
  readonly retryAfterMs?: number | undefined;
  /** The server will reject further attempts until its configuration changes: for example, the application is unknown. */
  readonly isRefused: boolean;
}

/**
 * Milliseconds until the next attempt, with full jitter, so that devices that lose a server at the same moment reconnect at different
 * times. A pause that the server requested is kept; after failed attempts, jitter is added to it.
 * @param random from 0 to 1
 */
export function pauseBefore(setback: Setback, options: BackOffOptions, random: number): number {
  const { baseMs = BASE_MS, maxMs = MAX_MS } = options;
  if (setback.isRefused) return maxMs / 2 + (random * maxMs) / 2;
  const jitter = random * Math.min(maxMs, baseMs * 2 ** Math.min(setback.failures, 30));
  if (setback.retryAfterMs === undefined) return jitter;
  // The server has already spread these pauses over the devices.
  return setback.failures === 0 ? setback.retryAfterMs : setback.retryAfterMs + jitter;
}

/** A wait that can be cut short. */
export class Pause {
  #end: (() => void) | undefined;

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  end(): void {
    this.#end?.();
  }
}

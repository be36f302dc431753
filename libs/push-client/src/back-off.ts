import type { BackOffOptions } from './push-client.types.js';

const BASE_MS = 1_000;
const MAX_MS = 120_000;

/** What is known when a connection, or the attempt at one, has ended. */
export interface Setback {
  /** Attempts in a row that led to nothing, this one included; 0 after a connection that held. */
  readonly failures: number;
  /** What the server asked for. */
  readonly retryAfterMs?: number | undefined;
  /** The server will say the same again unless somebody changes something: the application is unknown, for example. */
  readonly isRefused: boolean;
}

/**
 * Milliseconds until the next attempt: full jitter, so that devices which lost a server at the same moment come back spread.
 * A pause that the server asked for is kept, and jitter comes on top where attempts have failed.
 * @param random from 0 to 1
 */
export function pauseBefore(setback: Setback, options: BackOffOptions, random: number): number {
  const { baseMs = BASE_MS, maxMs = MAX_MS } = options;
  if (setback.isRefused) return maxMs / 2 + (random * maxMs) / 2;
  const jitter = random * Math.min(maxMs, baseMs * 2 ** Math.min(setback.failures, 30));
  if (setback.retryAfterMs === undefined) return jitter;
  // The server has spread these pauses itself, one for each device.
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

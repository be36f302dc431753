import { isWatched, printAside } from './terminal.js';

const WATCHED_INTERVAL_MS = 500;
const LOGGED_INTERVAL_MS = 15_000;
const SECOND_MS = 1_000;
const MINUTE_S = 60;
const CLEARED_LINE = '\r\u001b[K';
const DEFAULT_WIDTH = 200;

/** The progress of long work on standard error: one changing line on a terminal, else a line every 15 seconds. */
export class ProgressLine {
  readonly #isWatched = isWatched();
  readonly #startMs = performance.now();
  readonly #timer: NodeJS.Timeout;
  #isOpen = false;

  /** @param text the state after so many seconds */
  constructor(private readonly text: (seconds: number) => string) {
    const interval = this.#isWatched ? WATCHED_INTERVAL_MS : LOGGED_INTERVAL_MS;
    this.#timer = setInterval(() => {
      this.#draw();
    }, interval);
    this.#timer.unref();
  }

  /** Prints a line that stays. */
  say(line: string): void {
    this.#clear();
    printAside(`${line}\n`);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#clear();
  }

  #clear(): void {
    if (this.#isOpen) printAside(CLEARED_LINE);
    this.#isOpen = false;
  }

  #draw(): void {
    const line = this.text((performance.now() - this.#startMs) / SECOND_MS);
    if (this.#isWatched) printAside(`${CLEARED_LINE}${line.slice(0, process.stderr.columns || DEFAULT_WIDTH)}`);
    else printAside(`${line}\n`);
    this.#isOpen = this.#isWatched;
  }
}

/** A time for readers, such as `40 s`, `12 min` or `3 h 5 min`. */
export function spanOf(seconds: number): string {
  const minutes = Math.floor(seconds / MINUTE_S);
  if (minutes === 0) return `${Math.ceil(seconds)} s`;
  const hours = Math.floor(minutes / MINUTE_S);
  return hours === 0 ? `${minutes} min` : `${hours} h ${minutes % MINUTE_S} min`;
}

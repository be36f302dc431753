import { abortableSleep } from './abortable-sleep.js';

/** So many pages a second at most, and so many devices in each at least. */
const PAGES_A_SECOND = 10;

/** Lets so many devices a second pass: a token bucket that holds what one page takes. */
export class FlowControl {
  /** Devices of one page. */
  readonly pageSize: number;
  #nextAt = 0;

  constructor(private readonly devicesASecond: number) {
    this.pageSize = Math.ceil(devicesASecond / PAGES_A_SECOND);
  }

  /** Resolves when the next page may begin, or when the work is given up. */
  async turn(signal: AbortSignal): Promise<void> {
    const waitMs = this.#nextAt - performance.now();
    if (waitMs > 0) await abortableSleep(waitMs, signal);
  }

  /** Notes that so many devices have passed. */
  passed(count: number): void {
    this.#nextAt = Math.max(this.#nextAt, performance.now()) + (count / this.devicesASecond) * 1_000;
  }
}

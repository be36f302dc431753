import type { Gauge } from 'prom-client';
import { withTimeout } from '#errors';

/** Prometheus waits 10 seconds by default, for all samples together. */
const LIMIT_MS = 2_000;
/** A more frequent scrape gets the previous values, because a sample may cost a query. */
const CACHE_MS = 1_000;

/** Gauges that are read on demand. */
export interface Sample {
  /** These gauges have no value while the sample cannot be read. */
  readonly gauges: readonly Pick<Gauge, 'reset' | 'remove'>[];
  /** The labels that this sample sets, where other samples set the same gauges with other labels. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Sets all gauges of the sample. */
  readonly read: () => Promise<void> | void;
}

/** Reads samples at a scrape, each at most once at a time. A sample that fails does not affect the others. */
export class Samples {
  readonly #readings: Reading[] = [];

  add(sample: Sample): void {
    this.#readings.push(new Reading(sample));
  }

  async read(): Promise<void> {
    await Promise.all(this.#readings.map((reading) => reading.renew()));
  }
}

class Reading {
  #current: Promise<void> | undefined;
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly sample: Sample) {}

  /** Resolves when the gauges have their current values, or none. */
  async renew(): Promise<void> {
    if (performance.now() - this.#endedAt < CACHE_MS) return;
    this.#current ??= this.#read();
    await withTimeout(this.#current, LIMIT_MS, () => {
      this.#forget();
    });
  }

  async #read(): Promise<void> {
    try {
      await this.sample.read();
    } catch {
      // The readiness check reports the reason.
      this.#forget();
    } finally {
      this.#endedAt = performance.now();
      this.#current = undefined;
    }
  }

  #forget(): void {
    const { gauges, labels } = this.sample;
    for (const gauge of gauges) {
      if (labels !== undefined) {
        gauge.remove(labels);
        continue;
      }
      gauge.reset();
      // `reset` sets a gauge without labels to zero instead of removing it.
      gauge.remove({});
    }
  }
}

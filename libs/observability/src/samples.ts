import type { Gauge } from 'prom-client';

/** Prometheus waits 10 seconds by default, and for everything together. */
const LIMIT_MS = 2_000;
/** Whoever scrapes more often gets what was read last: it may have cost a query. */
const FRESH_MS = 1_000;

/** Gauges that are read when somebody asks for them. */
export interface Sample {
  /** Say nothing while they cannot be read. */
  readonly gauges: readonly Pick<Gauge, 'reset' | 'remove'>[];
  /** Where others set the same gauges with other labels: the labels with which this one sets them. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Sets them all. */
  readonly read: () => Promise<void> | void;
}

/** Reads samples at a scrape, none twice at once. A sample that cannot be read takes nothing from the others. */
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

  /** Resolves when the gauges say what is now, or nothing. */
  async renew(): Promise<void> {
    if (performance.now() - this.#endedAt < FRESH_MS) return;
    this.#current ??= this.#read();
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.#forget();
        resolve();
      }, LIMIT_MS);
    });
    await Promise.race([this.#current, tooLate]);
    clearTimeout(timer);
  }

  async #read(): Promise<void> {
    try {
      await this.sample.read();
    } catch {
      // Why it cannot be read, /readyz tells.
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
      // A reset sets one without labels to zero.
      gauge.remove({});
    }
  }
}

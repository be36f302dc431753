import { collectDefaultMetrics, Counter, Gauge, type LabelValues as Labels, type Metric, Registry } from 'prom-client';
import { withTimeout } from '#errors';

/** Prometheus waits 10 seconds by default, for all samples together. */
const LIMIT_MS = 2_000;
/** A more frequent scrape gets the previous values, because a sample may cost a query. */
const CACHE_MS = 1_000;

interface Sample {
  /** These gauges have no value while the sample cannot be read. */
  readonly gauges: readonly Pick<Gauge, 'reset' | 'remove'>[];
  /** The labels that this sample sets, where other samples set the same gauges with other labels. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly read: () => Promise<void> | void;
}

/** Reads samples at a scrape, each at most once at a time. A sample that fails does not affect the others. */
class Samples {
  readonly #samples: CachedSample[] = [];

  add(sample: Sample): void {
    this.#samples.push(new CachedSample(sample));
  }

  async read(): Promise<void> {
    await Promise.all(this.#samples.map((sample) => sample.renew()));
  }
}

class CachedSample {
  #current: Promise<void> | undefined;
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly sample: Sample) {}

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

/** Bucket bounds for durations that clients wait for: requests, RPCs, password hashing. */
export const LATENCY_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Bucket bounds for Redis commands, which end within 800 ms. */
export const REDIS_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.8];

/** All possible values of a label or, where they cannot be listed, a description of them. */
type LabelValues = readonly string[] | string;

interface MetricSpec<Label extends string> {
  readonly name: string;
  readonly help: string;
  /** The processes that report the metric; other processes may show a zero. */
  readonly by: string;
  readonly labels?: Readonly<Record<Label, LabelValues>>;
}

interface HistogramSpec<Label extends string> extends MetricSpec<Label> {
  readonly buckets: readonly number[];
}

interface DescribedMetric extends Required<MetricSpec<string>> {
  readonly kind: 'counter' | 'gauge' | 'histogram';
}

interface Series<Label extends string> {
  readonly labels: Labels<Label>;
  /** Observations by bucket, not accumulated; the last one counts those above all bounds. */
  readonly counts: Float64Array;
  sum: number;
}

/** prom-client converts labels and bounds to text with each observation: 5 % of the time of a process that answers reads. */
class Histogram<Label extends string> {
  readonly #series = new Map<string, Series<Label>>();

  constructor(
    readonly name: string,
    private readonly help: string,
    private readonly labelNames: readonly Label[],
    private readonly bounds: readonly number[],
  ) {
    if (labelNames.length === 0) this.#seriesOf({});
  }

  /** @param value in the unit of the metric's name */
  observe(labels: Labels<Label>, value: number): void {
    const series = this.#seriesOf(labels);
    let bucket = 0;
    while (value > (this.bounds[bucket] ?? Infinity)) bucket += 1;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += value;
  }

  startTimer(labels: Labels<Label> = {}): () => number {
    const startedAt = performance.now();
    return () => {
      const seconds = (performance.now() - startedAt) / 1_000;
      this.observe(labels, seconds);
      return seconds;
    };
  }

  get() {
    const values = [...this.#series.values()].flatMap((series) => this.#valuesOf(series));
    return Promise.resolve({ name: this.name, help: this.help, type: 'histogram', aggregator: 'sum', values });
  }

  #seriesOf(labels: Labels<Label>): Series<Label> {
    let key = '';
    for (const name of this.labelNames) key += `${labels[name]}\n`;
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const series = { labels: { ...labels }, counts: new Float64Array(this.bounds.length + 1), sum: 0 };
    this.#series.set(key, series);
    return series;
  }

  #valuesOf({ labels, counts, sum }: Series<Label>) {
    let count = 0;
    const buckets = [...this.bounds, '+Inf'].map((le, index) => {
      count += counts[index] ?? 0;
      return { labels: { le, ...labels }, value: count, metricName: `${this.name}_bucket` };
    });
    return [
      ...buckets,
      { labels, value: sum, metricName: `${this.name}_sum` },
      { labels, value: count, metricName: `${this.name}_count` },
    ];
  }
}

/** Creates the metrics of a process, describes them, and exposes their values. */
export abstract class MetricCatalogue {
  readonly registry = new Registry();
  readonly described: DescribedMetric[] = [];
  readonly #samples = new Samples();

  constructor() {
    // A resolution of 5 ms: the default of 10 ms hides short stalls.
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 5 });
  }

  sample(sample: Sample): void {
    this.#samples.add(sample);
  }

  async expose(): Promise<string> {
    await this.#samples.read();
    return this.registry.metrics();
  }

  /** Where all label values are known, it starts with a zero for each combination: Prometheus sees the first event as an increase. */
  protected counter<Label extends string = never>(spec: MetricSpec<Label>): Counter<Label> {
    const counter = new Counter<Label>(this.#configuration('counter', spec));
    for (const labels of combinationsOf(spec.labels)) counter.inc(labels, 0);
    return counter;
  }

  protected gauge<Label extends string = never>(spec: MetricSpec<Label>): Gauge<Label> {
    const gauge = new Gauge<Label>(this.#configuration('gauge', spec));
    gauge.remove({});
    return gauge;
  }

  protected histogram<Label extends string = never>({ buckets, ...spec }: HistogramSpec<Label>): Histogram<Label> {
    const { name, help, labelNames } = this.#configuration('histogram', spec);
    const histogram = new Histogram<Label>(name, help, labelNames, buckets);
    // The registry only reads a metric's name and values; its type lists the classes of the package.
    this.registry.registerMetric(histogram as unknown as Metric);
    return histogram;
  }

  #configuration<Label extends string>(kind: DescribedMetric['kind'], spec: MetricSpec<Label>) {
    const { name, help, by } = spec;
    const labels: Readonly<Record<string, LabelValues>> = spec.labels ?? {};
    this.described.push({ name, kind, help, by, labels });
    return { name, help, labelNames: Object.keys(labels) as Label[], registers: [this.registry] };
  }
}

/** All combinations of label values; none where a label's values cannot be listed. */
function combinationsOf<Label extends string>(
  labels: Readonly<Record<Label, LabelValues>> | undefined,
): Partial<Record<Label, string>>[] {
  const entries = Object.entries(labels ?? {}) as [Label, LabelValues][];
  return entries.reduce<Partial<Record<Label, string>>[]>(
    (combinations, [label, values]) =>
      typeof values === 'string'
        ? []
        : combinations.flatMap((known) => values.map((value) => ({ ...known, [label]: value }))),
    [{}],
  );
}

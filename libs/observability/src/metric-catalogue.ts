import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type Sample, Samples } from './samples.js';

/** Bounds of what a client waits for: requests, RPCs, passwords. */
export const LATENCY_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Bounds of commands to Redis, which end after 800 ms. */
export const REDIS_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.8];

/** Every value that a label can have, or, where they cannot be listed, what they are. */
type LabelValues = readonly string[] | string;

interface MetricSpec<Label extends string> {
  readonly name: string;
  /** One line for whoever reads `/metrics`. */
  readonly help: string;
  /** The processes that tell it; the others may show a zero. */
  readonly by: string;
  readonly labels?: Readonly<Record<Label, LabelValues>>;
}

interface HistogramSpec<Label extends string> extends MetricSpec<Label> {
  /** Upper bounds, in seconds. */
  readonly buckets: readonly number[];
}

/** What docs/metrics.md says of a metric. */
interface DescribedMetric extends Required<MetricSpec<string>> {
  readonly kind: 'counter' | 'gauge' | 'histogram';
}

/** Makes the metrics of a process, describes them, and exposes their values. */
export abstract class MetricCatalogue {
  readonly registry = new Registry();
  /** For docs/metrics.md. */
  readonly described: DescribedMetric[] = [];
  readonly #samples = new Samples();

  constructor() {
    // Sampled every 5 ms: the default of 10 hides short stalls.
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 5 });
  }

  /** Has gauges read at each scrape, once a second at most. */
  sample(sample: Sample): void {
    this.#samples.add(sample);
  }

  /** Everything, in Prometheus' text format. */
  async expose(): Promise<string> {
    await this.#samples.read();
    return this.registry.metrics();
  }

  /** Where all values of its labels are known it begins with a zero for each: the first event then counts as a growth. */
  protected counter<Label extends string = never>(spec: MetricSpec<Label>): Counter<Label> {
    const counter = new Counter<Label>(this.#configuration('counter', spec));
    for (const labels of combinationsOf(spec.labels)) counter.inc(labels, 0);
    return counter;
  }

  /** It says nothing until it is set. */
  protected gauge<Label extends string = never>(spec: MetricSpec<Label>): Gauge<Label> {
    const gauge = new Gauge<Label>(this.#configuration('gauge', spec));
    gauge.remove({});
    return gauge;
  }

  protected histogram<Label extends string = never>({ buckets, ...spec }: HistogramSpec<Label>): Histogram<Label> {
    return new Histogram<Label>({ ...this.#configuration('histogram', spec), buckets: [...buckets] });
  }

  #configuration<Label extends string>(kind: DescribedMetric['kind'], spec: MetricSpec<Label>) {
    const { name, help, by } = spec;
    const labels: Readonly<Record<string, LabelValues>> = spec.labels ?? {};
    this.described.push({ name, kind, help, by, labels });
    return { name, help, labelNames: Object.keys(labels) as Label[], registers: [this.registry] };
  }
}

/** Every combination of values; none where some label's cannot be listed. */
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

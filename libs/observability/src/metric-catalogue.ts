import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type Sample, Samples } from './samples.js';

/** Bucket bounds for durations that clients wait for: requests, RPCs, password hashing. */
export const LATENCY_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Bucket bounds for Redis commands, which end within 800 ms. */
export const REDIS_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.8];

/** All possible values of a label or, where they cannot be listed, a description of them. */
type LabelValues = readonly string[] | string;

interface MetricSpec<Label extends string> {
  readonly name: string;
  /** One line of help for readers of `/metrics`. */
  readonly help: string;
  /** The processes that report the metric; other processes may show a zero. */
  readonly by: string;
  readonly labels?: Readonly<Record<Label, LabelValues>>;
}

interface HistogramSpec<Label extends string> extends MetricSpec<Label> {
  /** Upper bounds, in seconds. */
  readonly buckets: readonly number[];
}

/** The description of a metric in docs/metrics.md. */
interface DescribedMetric extends Required<MetricSpec<string>> {
  readonly kind: 'counter' | 'gauge' | 'histogram';
}

/** Creates the metrics of a process, describes them, and exposes their values. */
export abstract class MetricCatalogue {
  readonly registry = new Registry();
  /** Source of docs/metrics.md. */
  readonly described: DescribedMetric[] = [];
  readonly #samples = new Samples();

  constructor() {
    // A resolution of 5 ms: the default of 10 ms hides short stalls.
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 5 });
  }

  /** Registers gauges that are read at each scrape, at most once a second. */
  sample(sample: Sample): void {
    this.#samples.add(sample);
  }

  /** All metrics in Prometheus' text format. */
  async expose(): Promise<string> {
    await this.#samples.read();
    return this.registry.metrics();
  }

  /**
   * Where all label values are known, the counter starts with a zero for each combination, so that Prometheus sees the first event as an
   * increase.
   */
  protected counter<Label extends string = never>(spec: MetricSpec<Label>): Counter<Label> {
    const counter = new Counter<Label>(this.#configuration('counter', spec));
    for (const labels of combinationsOf(spec.labels)) counter.inc(labels, 0);
    return counter;
  }

  /** The gauge has no series until it is set. */
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

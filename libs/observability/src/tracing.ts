import type {
  OpenSpan,
  OpenTelemetryTracer,
  SpanAttributes,
  SpanOptions,
  TracedService,
} from './open-telemetry.tracer.js';

/** Undefined while tracing is off: a step then costs one comparison. */
let tracer: OpenTelemetryTracer | undefined;

interface TracingEnvironment {
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string | undefined;
}

/** Turns tracing on where the environment names a collector. OpenTelemetry reads its other variables itself. */
export async function startTracing(service: TracedService, env: TracingEnvironment): Promise<void> {
  if ((env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? env.OTEL_EXPORTER_OTLP_ENDPOINT) === undefined) return;
  // Imported on demand: the SDK costs memory and start time that processes without tracing save.
  const implementation = await import('./open-telemetry.tracer.js');
  tracer = implementation.OpenTelemetryTracer.start(service);
}

export async function stopTracing(): Promise<void> {
  const stopped = tracer;
  tracer = undefined;
  await stopped?.stop();
}

/** For work that only traces need, such as building a span's name. */
export function isTracing(): boolean {
  return tracer !== undefined;
}

/** Starts a trace, or without `isRoot` a span of the current one. Only the gateway starts traces. Undefined while tracing is off. */
export function beginTrace(options: SpanOptions & { readonly isRoot: boolean }): OpenSpan | undefined {
  return tracer?.begin(options);
}

/** Runs the work in a span of the current trace; without a trace, the work runs without a span. */
export function inSpan<T>(options: SpanOptions, work: () => Promise<T>): Promise<T> {
  return tracer === undefined ? work() : tracer.inSpan(options, work);
}

/** Runs the work in a span of the remote trace whose `traceparent` came with a message or a row. */
export function continueTrace<T>(
  traceparent: string | null | undefined,
  options: SpanOptions,
  work: () => Promise<T>,
): Promise<T> {
  return tracer === undefined ? work() : tracer.continueTrace(traceparent, options, work);
}

export function recordInSpan(attributes: SpanAttributes): void {
  tracer?.record(attributes);
}

/** The `traceparent` for a message or a row, so that its receiver continues the trace; undefined without a trace. */
export function currentTraceparent(): string | undefined {
  return tracer?.traceparent();
}

export function currentTraceId(): string | undefined {
  return tracer?.traceparent()?.split('-', 2)[1];
}

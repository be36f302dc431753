import type { OpenSpan, SpanAttributes, SpanOptions, TracedService, Tracer } from './tracer.types.js';

/** Unset where tracing is off: then a step costs one look at this. */
let tracer: Tracer | undefined;

/** What switches tracing on, by the names that OpenTelemetry gives it. */
interface TracingEnvironment {
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string | undefined;
}

/** Begins to trace where the environment says where traces go to. Everything else OpenTelemetry reads there itself. */
export async function startTracing(service: TracedService, env: TracingEnvironment): Promise<void> {
  if ((env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? env.OTEL_EXPORTER_OTLP_ENDPOINT) === undefined) return;
  // Loaded only here: it would cost memory and a slower start where nobody wants it.
  const { OpenTelemetryTracer } = await import('./open-telemetry.tracer.js');
  tracer = OpenTelemetryTracer.start(service);
}

/** Hands over what was recorded, and ends. */
export async function stopTracing(): Promise<void> {
  const stopped = tracer;
  tracer = undefined;
  await stopped?.stop();
}

/** For work that only a trace needs, such as naming a span. */
export function isTracing(): boolean {
  return tracer !== undefined;
}

/**
 * Begins a trace; where `isRoot` is false, a span of the current one, if there is one. Only the gateway begins traces: what else a process does has none.
 * @returns undefined where tracing is off
 */
export function beginTrace(options: SpanOptions & { readonly isRoot: boolean }): OpenSpan | undefined {
  return tracer?.begin(options);
}

/** Does the work in a span of the current trace; where there is none, without one. */
export function inSpan<T>(options: SpanOptions, work: () => Promise<T>): Promise<T> {
  return tracer === undefined ? work() : tracer.inSpan(options, work);
}

/** Does the work in a span of the trace that somebody else began, by the word that came with a message or a row. */
export function continueTrace<T>(
  traceparent: string | null | undefined,
  options: SpanOptions,
  work: () => Promise<T>,
): Promise<T> {
  return tracer === undefined ? work() : tracer.continueTrace(traceparent, options, work);
}

/** Adds to the current span what was not known when it began. */
export function noteInSpan(attributes: SpanAttributes): void {
  tracer?.note(attributes);
}

/** What goes along with a message or a row, so that who works on it continues the trace; undefined where there is none. */
export function currentTraceparent(): string | undefined {
  return tracer?.traceparent();
}

/** The id of the current trace; undefined where there is none. */
export function currentTraceId(): string | undefined {
  return tracer?.traceparent()?.split('-', 2)[1];
}

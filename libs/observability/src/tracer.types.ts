/** Attributes of a span, named by OpenTelemetry's conventions or with the prefix `gatepost.`. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** The name and version of the process in traces. */
export interface TracedService {
  readonly name: string;
  readonly version: string;
}

/** A step of a request, as a trace shows it. */
export interface SpanOptions {
  /** Low cardinality: a route, a pattern, the first words of a statement. */
  readonly name: string;
  /** Default: `internal`. */
  readonly kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /** Must contain no secret, address or user content: the operator of the tracing system may be a third party. */
  readonly attributes?: SpanAttributes;
}

/** A span that the caller must end. */
export interface OpenSpan {
  /** Runs the work as a part of the span. */
  run<T>(work: () => T): T;
  /** @param isFailure true for a failure of the server, not of the client */
  end(attributes: SpanAttributes, isFailure: boolean): void;
}

/** The tracing implementation; installed where tracing is on. */
export interface Tracer {
  /** Starts a span of the current trace, or of a new one. */
  begin(options: SpanOptions & { readonly isRoot: boolean }): OpenSpan;
  /** Runs the work in a span of the current trace; without a trace, the work runs without a span. */
  inSpan<T>(options: SpanOptions, work: () => Promise<T>): Promise<T>;
  /** Runs the work in a span of the remote trace; without a remote trace, the work runs without a span. */
  continueTrace<T>(traceparent: string | null | undefined, options: SpanOptions, work: () => Promise<T>): Promise<T>;
  /** Adds attributes to the current span. */
  note(attributes: SpanAttributes): void;
  /** The current span as W3C header `traceparent`; undefined where the trace is not recorded. */
  traceparent(): string | undefined;
  /** Exports the recorded spans, and stops. */
  stop(): Promise<void>;
}

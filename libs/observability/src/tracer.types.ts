/** What a span says beside its name, by OpenTelemetry's names or ones that begin with `gatepost.`. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** The process, as traces name it. */
export interface TracedService {
  readonly name: string;
  readonly version: string;
}

/** A step of a request's work, as a trace shows it. */
export interface SpanOptions {
  /** Of few different ones: a route, a pattern, a statement's first words. */
  readonly name: string;
  /** `internal` unless given. */
  readonly kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /** No secret, address or content of a user's: who keeps traces is somebody else. */
  readonly attributes?: SpanAttributes;
}

/** A span that ends by itself no more than its work does. */
export interface OpenSpan {
  /** Does something as a part of the span. */
  run<T>(work: () => T): T;
  /** @param isFailure the server's own */
  end(attributes: SpanAttributes, isFailure: boolean): void;
}

/** What traces where tracing is on. */
export interface Tracer {
  /** Begins a span of the current trace, or of a new one. */
  begin(options: SpanOptions & { readonly isRoot: boolean }): OpenSpan;
  /** Does the work in a span of the current trace; where there is none, without one. */
  inSpan<T>(options: SpanOptions, work: () => Promise<T>): Promise<T>;
  /** Does the work in a span of the trace that somebody else began, and in none where nobody did. */
  continueTrace<T>(traceparent: string | null | undefined, options: SpanOptions, work: () => Promise<T>): Promise<T>;
  /** Adds to the current span what was not known when it began. */
  note(attributes: SpanAttributes): void;
  /** The current span as the header `traceparent` of W3C has it; undefined where nothing is recorded. */
  traceparent(): string | undefined;
  /** Hands over what was recorded, and ends. */
  stop(): Promise<void>;
}

import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@nestjs/common';
import { type Context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import { AppError, withTimeout } from '#errors';

/** Attributes of a span, named by OpenTelemetry's conventions or with the prefix `gatepost.`. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface TracedService {
  readonly name: string;
  readonly version: string;
}

export interface SpanOptions {
  /** Low cardinality: a route, a pattern, the first words of a statement. */
  readonly name: string;
  readonly kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /** Must contain no secret, address or user content: the operator of the tracing system may be a third party. */
  readonly attributes?: SpanAttributes;
}

export interface OpenSpan {
  run<T>(work: () => T): T;
  /** @param isFailure true for a failure of the server, not of the client */
  end(attributes: SpanAttributes, isFailure: boolean): void;
}

type Done = Parameters<SpanExporter['export']>[1];

/** Spans that cannot be exported are lost. The log reports the start and the end of such a failure. */
class ReportingExporter implements SpanExporter {
  #isFailing = false;

  constructor(
    private readonly exporter: SpanExporter,
    private readonly logger: Logger,
  ) {}

  export(spans: ReadableSpan[], done: Done): void {
    this.exporter.export(spans, (result) => {
      this.#note(result.error);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  /** Only name and code are logged: the collector's address may contain a password. */
  #note(error: (Error & { readonly code?: string | number }) | undefined): void {
    if ((error !== undefined) === this.#isFailing) return;
    this.#isFailing = error !== undefined;
    if (error === undefined) this.logger.log('exported again');
    else this.logger.warn(`cannot be exported, and are lost: ${String(error.code ?? error.name)}`);
  }
}

/** An unavailable collector must not delay the end of the process. */
const STOP_TIMEOUT_MS = 3_000;
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/;
const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};

/** Traces with OpenTelemetry's SDK. The SDK reads the exporter's target and the sampling ratio from the environment. */
export class OpenTelemetryTracer {
  readonly #current = new AsyncLocalStorage<Span | undefined>();
  readonly #tracer;

  private constructor(private readonly provider: BasicTracerProvider) {
    this.#tracer = provider.getTracer('gatepost');
  }

  static start({ name, version }: TracedService): OpenTelemetryTracer {
    const exporter = new ReportingExporter(new OTLPTraceExporter(), new Logger('Traces'));
    const named = resourceFromAttributes({ 'service.name': `gatepost-${name}`, 'service.version': version });
    // The attributes of the environment come last, because they take precedence.
    const resource = named.merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] }));
    return new OpenTelemetryTracer(
      new BasicTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(exporter)] }),
    );
  }

  begin({ isRoot, ...options }: SpanOptions & { readonly isRoot: boolean }): OpenSpan {
    const parent = isRoot ? undefined : this.#current.getStore();
    const span = this.#span(options, parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent));
    return {
      run: (work) => this.#current.run(span, work),
      end: (attributes, isFailure) => {
        span.setAttributes(attributes);
        if (isFailure) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  }

  inSpan<T>(options: SpanOptions, work: () => Promise<T>): Promise<T> {
    const parent = this.#current.getStore();
    return parent?.isRecording() === true ? this.#run(options, trace.setSpan(ROOT_CONTEXT, parent), work) : work();
  }

  continueTrace<T>(traceparent: string | null | undefined, options: SpanOptions, work: () => Promise<T>): Promise<T> {
    const [, traceId, spanId] = TRACEPARENT.exec(traceparent ?? '') ?? [];
    if (traceId === undefined || spanId === undefined) return this.#current.run(undefined, work);
    const parent = { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
    return this.#run(options, trace.setSpanContext(ROOT_CONTEXT, parent), work);
  }

  record(attributes: SpanAttributes): void {
    this.#current.getStore()?.setAttributes(attributes);
  }

  traceparent(): string | undefined {
    const span = this.#current.getStore();
    if (span?.isRecording() !== true) return undefined;
    const { traceId, spanId } = span.spanContext();
    return `00-${traceId}-${spanId}-01`;
  }

  async stop(): Promise<void> {
    const shutdown = this.provider.shutdown().catch(() => undefined);
    await withTimeout(shutdown, STOP_TIMEOUT_MS);
  }

  async #run<T>(options: SpanOptions, parent: Context, work: () => Promise<T>): Promise<T> {
    const span = this.#span(options, parent);
    try {
      return await this.#current.run(span, work);
    } catch (error) {
      note(span, error);
      throw error;
    } finally {
      span.end();
    }
  }

  #span({ name, kind = 'internal', attributes = {} }: SpanOptions, parent: Context): Span {
    return this.#tracer.startSpan(name, { kind: KINDS[kind], attributes }, parent);
  }
}

/** By its name: its text may contain confidential data. A client's mistake does not count as a failure. */
function note(span: Span, error: unknown): void {
  const isOurs = error instanceof AppError;
  const constructed = error instanceof Error ? error.name : 'unknown';
  span.setAttribute('error.type', isOurs ? error.errorName : constructed);
  if (!isOurs || error.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
}

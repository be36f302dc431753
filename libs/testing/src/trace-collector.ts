import { createServer, type IncomingMessage, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll } from 'vitest';
import { eventually } from './eventually.js';

const EXPORT_DELAY_MS = 200;

/** A span as the collector got it. */
export interface CollectedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}
interface ExportedSpan extends Omit<CollectedSpan, 'service' | 'attributes'> {
  readonly attributes: readonly Attribute[];
}
interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[];
  }[];
}

/** A collector of traces: takes what servers under test export by OTLP over HTTP. */
export class TraceCollector {
  readonly spans: CollectedSpan[] = [];
  /** Everything that came, as it came. */
  received = '';

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {
    server.on('request', (request: IncomingMessage, response) => {
      void text(request).then((body) => {
        this.#take(body);
        response.setHeader('content-type', 'application/json').end('{}');
      });
    });
  }

  static async start(): Promise<TraceCollector> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    return new TraceCollector(server, `http://127.0.0.1:${port}`);
  }

  /** Has a server trace, and not wait long before it exports. */
  env(): Record<string, string> {
    return { OTEL_EXPORTER_OTLP_ENDPOINT: this.url, OTEL_BSP_SCHEDULE_DELAY: String(EXPORT_DELAY_MS) };
  }

  /** The spans of the trace of a request, once `isWhole` says that all are there. */
  traceOf(requestId: string, isWhole: (spans: readonly CollectedSpan[]) => void): Promise<readonly CollectedSpan[]> {
    return eventually(() => {
      const root = this.spans.find(({ attributes }) => attributes['gatepost.request.id'] === requestId);
      if (root === undefined) throw new Error(`no span of the request ${requestId} has come`);
      const spans = this.spans.filter(({ traceId }) => traceId === root.traceId);
      isWhole(spans);
      return spans;
    });
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => {
      this.server.close(() => {
        resolve();
      });
    });
  }

  #take(body: string): void {
    this.received += body;
    for (const { resource, scopeSpans } of (JSON.parse(body) as ExportRequest).resourceSpans) {
      const service = String(recordOf(resource.attributes)['service.name']);
      const spans = scopeSpans.flatMap((scope) => scope.spans);
      this.spans.push(...spans.map((span) => ({ ...span, service, attributes: recordOf(span.attributes) })));
    }
  }
}

/** Starts a collector before the tests of a suite, and stops it after them. */
export function useTraceCollector(): () => TraceCollector {
  let collector: TraceCollector | undefined;
  beforeAll(async () => {
    collector = await TraceCollector.start();
  });
  afterAll(() => collector?.close());
  return () => {
    if (collector === undefined) throw new Error('the collector is there once the tests run');
    return collector;
  };
}

function recordOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

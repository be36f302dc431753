import { LRUCache } from 'lru-cache';
import { type OutboundAnswer, type OutboundClient, OutboundError, type OutboundRequest } from '#outbound';
import { Http2Client, Http2Error } from '../http2-client.js';

const CONNECTIONS = 2;
/** Services with open connections, at most: clients choose them. */
const MAX_SERVICES = 100;
const IDLE_MS = 60_000;
const NO_HTTP2 = 'NO_HTTP2';

/** The HTTP/2 connections to a service; `http/1.1` for a service without HTTP/2. */
type Service = Http2Client | 'http/1.1';

/**
 * Sends requests to the push services of browsers, which clients choose: over HTTP/2, where many requests share a connection, or over
 * HTTP/1.1 with services that speak nothing else. Internal addresses are never dialled.
 */
export class PushServices {
  /** By origin. */
  readonly #services = new LRUCache<string, Service>({
    max: MAX_SERVICES,
    ttl: IDLE_MS,
    ttlAutopurge: true,
    updateAgeOnGet: true,
    dispose: (service) => {
      if (service !== 'http/1.1') service.close();
    },
  });

  /** @param options `timeoutMs`: of a connection, of a request, and of its wait for a free stream */
  constructor(
    private readonly outbound: Pick<OutboundClient, 'connect' | 'send'>,
    private readonly options: { readonly timeoutMs: number; readonly maxAnswerBytes?: number },
  ) {}

  /** @throws OutboundError */
  async send(url: URL, options: Required<OutboundRequest>): Promise<OutboundAnswer> {
    const service = this.#services.get(url.origin) ?? this.#open(url);
    if (service === 'http/1.1') return this.outbound.send(url, options);
    try {
      const { body } = options;
      const path = `${url.pathname}${url.search}`;
      const headers = {
        ...options.headers,
        'content-length': String(Buffer.byteLength(body)),
        'user-agent': 'Gatepost',
      };
      const answer = await service.request({ path, headers, body });
      return { status: answer.status, text: answer.text, retryAfter: answer.headers['retry-after'] };
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      if (error.message !== NO_HTTP2) throw new OutboundError(error.message);
      this.#services.set(url.origin, 'http/1.1');
      return this.outbound.send(url, options);
    }
  }

  close(): void {
    this.#services.clear();
  }

  #open(url: URL): Http2Client {
    const connect = async () => {
      const socket = await this.outbound.connect(url);
      if (socket.alpnProtocol === 'h2') return socket;
      socket.destroy();
      throw new Http2Error(true, NO_HTTP2);
    };
    const service = new Http2Client(url.origin, {
      ...this.options,
      connections: CONNECTIONS,
      waitMs: this.options.timeoutMs,
      connect,
    });
    this.#services.set(url.origin, service);
    return service;
  }
}

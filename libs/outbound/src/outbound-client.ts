import { Agent, request } from 'undici';
import { guardedConnector } from './guarded-connector.js';
import { NetworkGuard } from './network-guard.js';

/** Some servers turn away who does not say this much. */
const COMMON_HEADERS = { accept: 'application/json', 'user-agent': 'Gatepost' };

export interface OutboundOptions {
  /** Internal addresses and networks that may be reached all the same, as GATEPOST_INTERNAL_NETWORKS has them. */
  readonly internalNetworks: readonly string[];
  /** After it a request is given up: the time to connect, and that to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
  /** Connections to one server; more requests at once wait for one. */
  readonly maxConnections: number;
}

export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Whatever was answered, redirects too: they are not followed. */
export interface OutboundAnswer {
  readonly status: number;
  readonly text: string;
}

/**
 * Nothing was answered. Its message is for the log: a code, for an error's own text and properties may hold the address with
 * its tokens, or what was sent.
 */
export class OutboundError extends Error {}

/** Requests to servers that are not ours: never into networks of our own, bounded in time and size, none tried twice. */
export class OutboundClient {
  readonly #agent: Agent;
  readonly #timeoutMs: number;

  constructor({ internalNetworks, timeoutMs, maxAnswerBytes, maxConnections }: OutboundOptions) {
    this.#timeoutMs = timeoutMs;
    this.#agent = new Agent({
      connect: guardedConnector(new NetworkGuard(internalNetworks), timeoutMs),
      connections: maxConnections,
      maxResponseSize: maxAnswerBytes,
    });
  }

  /** The time that one task has, where it makes several requests. */
  deadline(): AbortSignal {
    return AbortSignal.timeout(this.#timeoutMs);
  }

  /** @throws OutboundError */
  async send(url: URL, options: OutboundRequest, deadline: AbortSignal = this.deadline()): Promise<OutboundAnswer> {
    try {
      const { statusCode, body } = await request(url, {
        ...options,
        headers: { ...COMMON_HEADERS, ...options.headers },
        dispatcher: this.#agent,
        signal: deadline,
      });
      return { status: statusCode, text: await body.text() };
    } catch (error) {
      throw new OutboundError(this.#reasonOf(error, deadline));
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #reasonOf(error: unknown, deadline: AbortSignal): string {
    if (deadline.aborted) return `no answer within ${this.#timeoutMs} ms`;
    const { code, name } = error as { code?: unknown; name?: unknown };
    return String(code ?? name);
  }
}

import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';

const PROBE_INTERVAL_MS = 100;
const PROBE_TIMEOUT_MS = 2_000;
/** Those that a proxy must not pass on. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding']);

interface Gateway {
  readonly port: number;
  /** Keeps its connections, as proxies do. */
  readonly agent: Agent;
  isReady: boolean;
  probe: NodeJS.Timeout | undefined;
}

interface Answer {
  readonly response: IncomingMessage;
  readonly body: Buffer;
}

/**
 * A load balancer before gateways: distributes requests in turn over those that are ready, or over all if none is, over persistent
 * connections. Only a refused connection is retried, with another gateway; a broken connection breaks the client's, too.
 */
export class LoadBalancer {
  readonly #gateways = new Map<number, Gateway>();
  #turn = 0;

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async start(): Promise<LoadBalancer> {
    const server = createServer((incoming, reply) => {
      void balancer.#serve(incoming, reply);
    });
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => {
        resolve((server.address() as { port: number }).port);
      });
    });
    const balancer = new LoadBalancer(server, port);
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** From now on the gateway is asked whether it is ready. */
  add(port: number): void {
    const gateway: Gateway = { port, agent: new Agent({ keepAlive: true }), isReady: false, probe: undefined };
    this.#gateways.set(port, gateway);
    void this.#probe(gateway);
  }

  remove(port: number): void {
    const gateway = this.#gateways.get(port);
    this.#gateways.delete(port);
    clearTimeout(gateway?.probe);
    gateway?.agent.destroy();
  }

  async stop(): Promise<void> {
    for (const port of [...this.#gateways.keys()]) this.remove(port);
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #probe(gateway: Gateway): Promise<void> {
    const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
    gateway.isReady = await fetch(`http://127.0.0.1:${gateway.port}/readyz`, { signal }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (this.#gateways.get(gateway.port) !== gateway) return;
    gateway.probe = setTimeout(() => void this.#probe(gateway), PROBE_INTERVAL_MS);
  }

  async #serve(incoming: IncomingMessage, reply: ServerResponse): Promise<void> {
    const body = Buffer.concat((await incoming.toArray()) as Buffer[]);
    try {
      const answer = await this.#ask(incoming, body);
      if (answer === undefined) {
        reply.writeHead(503, { 'retry-after': '1' }).end('no gateway accepts connections');
        return;
      }
      const headers = Object.entries(answer.response.headers).filter(([name]) => !HOP_BY_HOP.has(name));
      reply.writeHead(answer.response.statusCode ?? 502, Object.fromEntries(headers)).end(answer.body);
    } catch {
      reply.destroy();
    }
  }

  async #ask(incoming: IncomingMessage, body: Buffer): Promise<Answer | undefined> {
    const all = [...this.#gateways.values()];
    const ready = all.filter(({ isReady }) => isReady);
    for (const gateway of inTurn(ready.length > 0 ? ready : all, (this.#turn += 1))) {
      try {
        return await forward(gateway, incoming, body);
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'ECONNREFUSED') throw error;
      }
    }
    return undefined;
  }
}

function inTurn<T>(all: readonly T[], turn: number): T[] {
  const first = turn % Math.max(1, all.length);
  return [...all.slice(first), ...all.slice(0, first)];
}

function forward({ port, agent }: Gateway, { method, url, headers }: IncomingMessage, body: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, agent, method, path: url, headers }, (response) => {
      response.toArray().then((chunks) => {
        resolve({ response, body: Buffer.concat(chunks as Buffer[]) });
      }, reject);
    });
    asked.once('error', reject);
    asked.end(body);
  });
}

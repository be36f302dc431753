import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import type { Fixtures } from './fixtures.js';
import type { HostileRequest } from './hostile-request.js';

/** Longer than the longest deadline of the product: ten seconds where a password is hashed. */
const DEADLINE_MS = 12_000;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends requests as they are, to one gateway after the other. */
export class Sender {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  #sent = 0;

  constructor(
    private readonly baseUrls: readonly string[],
    private readonly fixtures: Fixtures,
  ) {}

  get sent(): number {
    return this.#sent;
  }

  /** The request with what its names stand for. */
  resolve({ method, target, headers, body, as }: HostileRequest): HostileRequest {
    const isOwnApplication = headers['x-lc-id'] === '$OWN_ID';
    const resolve = (text: string) => this.fixtures.resolve(text, isOwnApplication);
    const values = Object.entries(headers).map(([name, value]) => [name, headerSafe(resolve(value))]);
    return {
      method,
      as,
      target: targetSafe(resolve(target)),
      headers: Object.fromEntries(values) as Record<string, string>,
      body: typeof body === 'string' ? resolve(body) : body,
    };
  }

  /** @throws Error where no answer comes in time */
  send({ method, target, headers, body }: HostileRequest): Promise<Answer> {
    const { hostname, port } = new URL(this.baseUrls[this.#sent++ % this.baseUrls.length] ?? '');
    const bytes = body === undefined ? undefined : Buffer.from(body);
    const length = bytes === undefined ? {} : { 'content-length': String(bytes.length) };
    return new Promise((resolve, reject) => {
      const options = { hostname, port, method, path: target, headers: { ...headers, ...length }, agent: this.#agent };
      const sent = request(options, (response) => {
        response
          .toArray()
          .then((chunks) => {
            clearTimeout(deadline);
            const text = Buffer.concat(chunks as Buffer[]).toString();
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
          })
          .catch(reject);
      });
      const deadline = setTimeout(() => sent.destroy(new Error(`no answer within ${DEADLINE_MS} ms`)), DEADLINE_MS);
      sent.once('error', (error) => {
        clearTimeout(deadline);
        reject(error);
      });
      sent.end(bytes);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Headers that Node's client would refuse to send; raw sockets send them too, see the corpus of conversations. */
function headerSafe(value: string): string {
  return value.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '');
}

function targetSafe(target: string): string {
  return target.replaceAll(/[^\x21-\x7e]/g, (character) => encodeURIComponent(character));
}

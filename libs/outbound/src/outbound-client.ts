import dns, { type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { Agent, buildConnector, request } from 'undici';
import { NAMED_NETWORKS } from '#bootstrap';

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** The global unicast range of IPv6. Addresses outside it, such as `::7f00:1` (an old form of an IPv4 address), are not assigned. */
const OPEN_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Decides which addresses may be dialled: public addresses, and the internal networks that the configuration permits. */
export class NetworkGuard {
  readonly #internal: Network[];

  constructor(internalNetworks: readonly string[]) {
    this.#internal = internalNetworks.flatMap((text) => NAMED_NETWORKS[text] ?? [text]).map(toNetwork);
  }

  permits(address: string): boolean {
    if (!ipaddr.isValid(address)) return false;
    // An IPv4-mapped IPv6 address is checked as the IPv4 address.
    const parsed = ipaddr.process(address);
    // An allow list, so that address ranges of future standards are denied by default.
    if (parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(OPEN_IPV6))) return true;
    return ipaddr.subnetMatch(parsed, { internal: this.#internal }, 'none') === 'internal';
  }
}

function toNetwork(text: string): Network {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

class InternalAddressError extends Error {
  readonly code = 'INTERNAL_ADDRESS';
}

/** Checks the address of the connection itself: a name that resolves differently each time (DNS rebinding) cannot bypass it. */
export function guardedConnector(
  guard: NetworkGuard,
  timeoutMs: number,
  { allowH2 = false } = {},
): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, lookup: guardedLookup(guard), allowH2 });
  return (options, callback) => {
    // A literal address bypasses the look-up function, so the guard checks it here.
    if (isIP(options.hostname) === 0 || guard.permits(options.hostname)) connect(options, callback);
    else callback(new InternalAddressError('the address is internal'), null);
  };
}

function guardedLookup(guard: NetworkGuard): LookupFunction {
  return (hostname, options, callback) => {
    dns.lookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error !== null) {
        callback(error, '');
        return;
      }
      const permitted = addresses.filter(({ address }) => guard.permits(address));
      const [first] = permitted;
      if (first === undefined) callback(new InternalAddressError('the name resolves to internal addresses only'), '');
      else if (options.all === true) callback(null, permitted);
      else callback(null, first.address, first.family);
    });
  };
}

/** Some servers refuse requests without these headers. */
const COMMON_HEADERS = { accept: 'application/json', 'user-agent': 'Gatepost' };

interface OutboundOptions {
  /** Internal addresses and networks that may be dialled, as in GATEPOST_INTERNAL_NETWORKS. */
  readonly internalNetworks: readonly string[];
  /** Timeout of a request, from the connection attempt to the last byte of the response. */
  readonly timeoutMs: number;
  /** The largest response in bytes; -1 where the caller of `open` limits it. */
  readonly maxAnswerBytes: number;
  /** Connections per server; further requests wait for a free one. */
  readonly maxConnections: number;
}

export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface OutboundAnswer {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | undefined;
}

/** A response whose body has not arrived yet. Redirects are returned, not followed. */
export interface OutboundStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The caller reads it to its end or destroys it. Its errors may be logged by `outboundReason` only. */
  readonly body: Readable;
}

/** No response arrived. The message is a code that can be logged: the original error may contain the URL with its tokens, or the body. */
export class OutboundError extends Error {}

/** Node.js 20 collects `AbortSignal.timeout()` as garbage where only `AbortSignal.any()` refers to it: a listener of its own keeps it. */
export function withTimeLimit(signal: AbortSignal, timeoutMs: number): AbortSignal {
  const limit = AbortSignal.timeout(timeoutMs);
  limit.addEventListener('abort', () => undefined, { once: true });
  return AbortSignal.any([signal, limit]);
}

/** Sends requests to external servers: never to internal networks, bounded in time and size, without retries. */
export class OutboundClient {
  readonly #agent: Agent;
  readonly #guard: NetworkGuard;
  readonly #timeoutMs: number;

  constructor({ internalNetworks, timeoutMs, maxAnswerBytes, maxConnections }: OutboundOptions) {
    this.#timeoutMs = timeoutMs;
    this.#guard = new NetworkGuard(internalNetworks);
    this.#agent = new Agent({
      connect: guardedConnector(this.#guard, timeoutMs),
      connections: maxConnections,
      maxResponseSize: maxAnswerBytes,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
  }

  deadline(): AbortSignal {
    return AbortSignal.timeout(this.#timeoutMs);
  }

  async send(url: URL, options: OutboundRequest, deadline: AbortSignal = this.deadline()): Promise<OutboundAnswer> {
    try {
      const { statusCode, headers, body } = await request(url, {
        ...options,
        headers: { ...COMMON_HEADERS, ...options.headers },
        dispatcher: this.#agent,
        signal: deadline,
      });
      const { 'retry-after': retryAfter } = headers;
      const text = await body.text();
      return { status: statusCode, text, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined };
    } catch (error) {
      throw new OutboundError(this.#reasonOf(error, deadline));
    }
  }

  /** For responses of any size: the time limit counts up to the first byte and between two parts; the signal limits the whole. */
  async open(url: URL, options: OutboundRequest, signal: AbortSignal): Promise<OutboundStream> {
    try {
      const { statusCode, headers, body } = await request(url, {
        ...options,
        headers: { ...COMMON_HEADERS, ...options.headers },
        dispatcher: this.#agent,
        signal,
      });
      return { status: statusCode, headers, body };
    } catch (error) {
      throw new OutboundError(outboundReason(error));
    }
  }

  /** `alpnProtocol` says whether the server has chosen HTTP/2 (`h2`). @throws Error with a code that can be logged */
  connect({ protocol, host, hostname, port }: URL): Promise<TLSSocket> {
    const connect = guardedConnector(this.#guard, this.#timeoutMs, { allowH2: true });
    return new Promise((resolve, reject) => {
      // `host` becomes the name in the TLS handshake (SNI). URLs have brackets around IPv6 addresses.
      connect({ protocol, host, hostname: hostname.replace(/^\[(.*)\]$/, '$1'), port }, (error, socket) => {
        if (error === null) resolve(socket as TLSSocket);
        else reject(error);
      });
    });
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #reasonOf(error: unknown, deadline: AbortSignal): string {
    if (deadline.aborted) return `no answer within ${this.#timeoutMs} ms`;
    return outboundReason(error);
  }
}

/** The code of an error of a request or of its body: the text of the error may contain the URL. */
export function outboundReason(error: unknown): string {
  if (error instanceof OutboundError) return error.message;
  const { code, name } = error as { code?: unknown; name?: unknown };
  // The code of an aborted request is the number of a DOMException.
  return String(typeof code === 'string' ? code : name);
}

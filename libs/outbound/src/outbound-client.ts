import dns, { type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Agent, buildConnector, request } from 'undici';

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Networks that have a name, as in GATEPOST_TRUSTED_PROXIES. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** All that is given out of IPv6: what lies beside it, such as `::7f00:1` (an IPv4 address in an old form), is nobody's. */
const OPEN_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Says which addresses may be dialled: those of the open internet, and the internal networks that are given. */
export class NetworkGuard {
  readonly #internal: Network[];

  /** @param internalNetworks addresses, networks, or their names, as GATEPOST_INTERNAL_NETWORKS has them */
  constructor(internalNetworks: readonly string[]) {
    this.#internal = internalNetworks.flatMap((text) => NAMED[text] ?? [text]).map(toNetwork);
  }

  permits(address: string): boolean {
    if (!ipaddr.isValid(address)) return false;
    // An IPv4 address in the clothes of IPv6 is judged as what it is.
    const parsed = ipaddr.process(address);
    // A list of what is open, not of what is closed: whatever range is added to the standards is closed first.
    if (parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(OPEN_IPV6))) return true;
    return ipaddr.subnetMatch(parsed, { internal: this.#internal }, 'none') === 'internal';
  }
}

function toNetwork(text: string): Network {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/** A connection that would have gone into a network of our own. */
class InternalAddressError extends Error {
  readonly code = 'INTERNAL_ADDRESS';
}

/**
 * Connects to nothing that the guard forbids. Names are judged by the addresses that the connection is then made to, so a
 * name whose answer changes from look-up to look-up gains nothing.
 */
function guardedConnector(guard: NetworkGuard, timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, lookup: guardedLookup(guard) });
  return (options, callback) => {
    // An address in place of a name is never looked up.
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
      if (first === undefined) callback(new InternalAddressError('the name leads to internal addresses'), '');
      else if (options.all === true) callback(null, permitted);
      else callback(null, first.address, first.family);
    });
  };
}

/** Some servers turn away who does not say this much. */
const COMMON_HEADERS = { accept: 'application/json', 'user-agent': 'Gatepost' };

interface OutboundOptions {
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

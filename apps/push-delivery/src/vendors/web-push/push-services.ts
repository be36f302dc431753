import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { type OutboundAnswer, type OutboundClient, OutboundError, type OutboundRequest } from '#outbound';
import { Http2Client, Http2Error } from '../http2-client.js';
import { MAX_REQUESTED_BACK_OFF_MS } from '../settlement.rules.js';
import { codeOf, objectIn, objectOr, type Outcome } from '../vendor-channel.rules.js';
import type { SubscriptionKeys } from './web-push.crypto.js';

const CONNECTIONS = 2;
const MAX_SERVICES = 100;
const IDLE_MS = 60_000;
const NO_HTTP2 = 'NO_HTTP2';

type Service = Http2Client | 'http/1.1';

/** Clients choose the services, so internal addresses are never dialled. Over HTTP/2, requests share a connection. */
export class PushServices {
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
      connect,
    });
    this.#services.set(url.origin, service);
    return service;
  }
}

export interface Subscription {
  readonly endpoint: URL;
  readonly keys: SubscriptionKeys;
}

export function subscriptionIn(text: string): Subscription | undefined {
  const { endpoint, keys } = objectIn(text);
  const { p256dh, auth } = objectOr(keys);
  if (typeof endpoint !== 'string' || typeof p256dh !== 'string' || typeof auth !== 'string') return undefined;
  if (!URL.canParse(endpoint)) return undefined;
  const url = new URL(endpoint);
  return url.protocol === 'https:' ? { endpoint: url, keys: { p256dh, auth } } : undefined;
}

/** A page is no answer, but one of a proxy. 404 and 410 end the subscription. A refused authorization concerns one subscription: it may belong to another key. */
export function outcomeOf({ status, text }: OutboundAnswer, backOffMs: number | undefined): Outcome {
  const isOfProxy = /^\s*</.test(text) || Math.floor(status / 100) === 3;
  const reason = codeOf(objectIn(text)['reason']) || `status ${status}`;
  if (status === 404 || status === 410) return { kind: 'invalid', reason };
  if (status === 429 || status >= 500)
    return { kind: 'later', reason, scope: 'device', ...(backOffMs === undefined ? {} : { backOffMs }) };
  if (isOfProxy) return { kind: 'unsure', reason: NO_ANSWER, scope: 'device' };
  return status < 300 ? { kind: 'accepted' } : { kind: 'rejected', reason };
}

const MAX_ORIGINS = 1_000;
const MAX_ENDPOINTS = 1_000;
/** In a row, without an answer or with a requested back-off. */
const MAX_FAILURES = 3;
const BACK_OFF_MS = { first: 5_000, longest: 10 * 60_000 };
/** Requests to unproven services, of the ten or more that a lane sends at once. */
const MAX_TRIALS = 4;
const TRIAL_WAIT_MS = 1_000;
/** Devices without a free trial return one after the other. */
const TURN_MS = { first: 1_000, next: 100 };

export const NO_ANSWER = 'no answer';
const NO_TRIAL = 'too many push services do not answer';
const REQUESTED_BACK_OFF = 'the push service asks for fewer requests';

interface UnansweredState {
  readonly failures: number;
  readonly lastBackOffMs: number;
  readonly backOffUntil: number;
}

/** A 429 is for one subscription (RFC 8030, 8.4), several in a row are for the service. */
interface ThrottledState {
  readonly refusals: number;
  readonly backOffUntil: number;
}

interface ActiveBackOff {
  readonly reason: string;
  readonly backOffMs: number;
}

/** Clients choose the services: one that fails must not delay the devices of others. */
export class PushServiceBackOff {
  readonly #unanswered = new LRUCache<string, UnansweredState>({ max: MAX_ORIGINS });
  readonly #throttled = new LRUCache<string, ThrottledState>({ max: MAX_ORIGINS });
  readonly #endpoints = new LRUCache<string, number>({ max: MAX_ENDPOINTS });
  /** They have answered, and have not begun a back-off since. */
  readonly #answered = new LRUCache<string, true>({ max: MAX_ORIGINS });
  /** One first request to each other service. A trial resolves with its request, or earlier if that takes long. */
  readonly #trials = new Map<string, Promise<unknown>>();
  #turnsEnd = 0;

  /** @returns why and for how long nothing is sent; undefined: send */
  of({ origin, href }: URL): ActiveBackOff | undefined {
    const now = performance.now();
    const askedMs = Math.max(this.#throttled.get(origin)?.backOffUntil ?? 0, this.#endpoints.get(href) ?? 0) - now;
    const unansweredMs = (this.#unanswered.get(origin)?.backOffUntil ?? 0) - now;
    const backOffMs = Math.max(askedMs, unansweredMs);
    return backOffMs > 0 ? { reason: unansweredMs > askedMs ? NO_ANSWER : REQUESTED_BACK_OFF, backOffMs } : undefined;
  }

  /** While a push service has not answered, it gets one request. */
  async begin<T>(origin: string, request: () => Promise<T>): Promise<T | ActiveBackOff> {
    const trial = this.#trials.get(origin);
    if (trial !== undefined) await trial;
    if (this.#answered.has(origin)) return request();
    if (this.#trials.has(origin)) return { reason: NO_ANSWER, backOffMs: BACK_OFF_MS.first };
    if (this.#trials.size >= MAX_TRIALS) return { reason: NO_TRIAL, backOffMs: this.#turnMs() };
    const ended = request();
    const isKnown = ended.catch(() => undefined);
    this.#trials.set(origin, Promise.race([isKnown, sleep(TRIAL_WAIT_MS, undefined, { ref: false })]));
    void isKnown.then(() => this.#trials.delete(origin));
    return ended;
  }

  recordAnswer({ origin, href }: URL, status: number, askedMs: number | undefined): void {
    this.#unanswered.delete(origin);
    this.#answered.set(origin, true);
    const known = this.#throttled.get(origin);
    if (askedMs === undefined) {
      if (known !== undefined) this.#throttled.set(origin, { ...known, refusals: 0 });
      return;
    }
    const { refusals, backOffUntil } = known ?? { refusals: 0, backOffUntil: 0 };
    const isForAll = status !== 429 || refusals + 1 >= MAX_FAILURES;
    const until = performance.now() + Math.min(askedMs, MAX_REQUESTED_BACK_OFF_MS);
    if (!isForAll) this.#endpoints.set(href, until);
    this.#throttled.set(origin, {
      refusals: refusals + 1,
      backOffUntil: isForAll ? Math.max(until, backOffUntil) : backOffUntil,
    });
  }

  /** Requests that fail at the same time start one back-off. */
  recordTimeout(origin: string): void {
    const { failures, lastBackOffMs, backOffUntil } = this.#unanswered.get(origin) ?? {
      failures: 0,
      lastBackOffMs: 0,
      backOffUntil: 0,
    };
    const now = performance.now();
    if (backOffUntil > now) return;
    if (failures + 1 < MAX_FAILURES && lastBackOffMs === 0) {
      this.#unanswered.set(origin, { failures: failures + 1, lastBackOffMs, backOffUntil });
      return;
    }
    this.#answered.delete(origin);
    const backOffMs = Math.min(BACK_OFF_MS.longest, Math.max(BACK_OFF_MS.first, 2 * lastBackOffMs));
    this.#unanswered.set(origin, { failures: 0, lastBackOffMs: backOffMs, backOffUntil: now + backOffMs });
  }

  /** The longer the line, the later the next turn, so that a long line is not looked at all the time. */
  #turnMs(): number {
    const now = performance.now();
    this.#turnsEnd = Math.min(now + BACK_OFF_MS.longest, Math.max(now + TURN_MS.first, this.#turnsEnd + TURN_MS.next));
    return this.#turnsEnd - now;
  }
}

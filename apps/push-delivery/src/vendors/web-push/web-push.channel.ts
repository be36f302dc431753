import type { KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '#bootstrap';
import type { JsonObject } from '#contracts';
import { OutboundError } from '#outbound';
import { CLOSED } from '../http2-client.js';
import {
  type Outcome,
  retryAfterMs,
  type VendorChannel,
  type VendorPush,
  type VendorTarget,
} from '../vendor-channel.rules.js';
import {
  NO_ANSWER,
  outcomeOf,
  type PushServices,
  PushServiceBackOff,
  type Subscription,
  subscriptionIn,
} from './push-services.js';
import { encrypt, MAX_TEXT_BYTES, signingKeyOf, type VapidKeys, vapidToken } from './web-push.crypto.js';

const TOKEN_LIFE_MS = 12 * 3_600_000;
const MAX_ORIGINS = 1_000;
const MAX_TTL_SECONDS = 2_419_200;
const CLOSED_BACK_OFF_MS = 1_000;

/** Renewed after half of its life, and after the clock was set back: push services refuse tokens of the far future. */
interface OriginToken {
  readonly token: Promise<string>;
  readonly signedAt: number;
}

interface WebPushOptions {
  readonly keys: VapidKeys;
  readonly subject: string;
  readonly services: Pick<PushServices, 'close' | 'send'>;
  readonly clock: Clock;
}

export class WebPushChannel implements VendorChannel {
  readonly targetsPerRequest = 1;
  readonly devicesChooseServer = true;
  readonly #key: KeyObject;
  readonly #tokens = new LRUCache<string, OriginToken>({ max: MAX_ORIGINS });
  readonly #backOff = new PushServiceBackOff();
  #last: { readonly push: VendorPush; readonly message: BrowserMessage } | undefined;

  constructor(private readonly options: WebPushOptions) {
    this.#key = signingKeyOf(options.keys);
  }

  send(push: VendorPush, targets: readonly VendorTarget[]): Promise<Outcome[]> {
    return Promise.all(targets.map((target) => this.#sendOne(push, target)));
  }

  /** Subscriptions name their services: there is none to sign in at. */
  async check(): Promise<undefined> {
    await this.#authorization('https://localhost');
    return undefined;
  }

  close(): void {
    this.#tokens.clear();
    this.options.services.close();
  }

  async #sendOne(push: VendorPush, target: VendorTarget): Promise<Outcome> {
    const subscription = subscriptionIn(target.token);
    if (subscription === undefined) return { kind: 'rejected', reason: 'not a subscription' };
    const message = this.#messageOf(push);
    if (message.isTooLarge) return { kind: 'rejected', reason: 'message too large' };
    const { endpoint } = subscription;
    const backOff = this.#backOff.of(endpoint);
    if (backOff !== undefined) return { kind: 'waiting', ...backOff };
    const begun = await this.#backOff.begin(endpoint.origin, () => this.#request(push, subscription, message));
    return 'kind' in begun ? begun : { kind: 'waiting', ...begun };
  }

  async #request(push: VendorPush, { endpoint, keys }: Subscription, message: BrowserMessage): Promise<Outcome> {
    const body = encrypt(message.text, keys);
    if (body === undefined) return { kind: 'rejected', reason: 'not a subscription' };
    try {
      const headers = await this.#headers(push, endpoint, message.isSilent);
      const answer = await this.options.services.send(endpoint, { method: 'POST', headers, body });
      const askedMs = retryAfterMs(answer.retryAfter, this.options.clock.now());
      const outcome = outcomeOf(answer, askedMs);
      this.#backOff.recordAnswer(endpoint, answer.status, outcome.kind === 'later' ? askedMs : undefined);
      return outcome;
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      // A guarded address is no failure of the network: it stays refused.
      if (error.message === 'INTERNAL_ADDRESS') return { kind: 'rejected', reason: 'internal address' };
      if (error.message === CLOSED)
        return { kind: 'waiting', reason: 'no free connection', backOffMs: CLOSED_BACK_OFF_MS };
      this.#backOff.recordTimeout(endpoint.origin);
      return { kind: 'unsure', reason: NO_ANSWER, scope: 'device' };
    }
  }

  #messageOf(push: VendorPush): BrowserMessage {
    if (this.#last?.push !== push) this.#last = { push, message: browserMessage(push) };
    return this.#last.message;
  }

  async #headers(push: VendorPush, { origin }: URL, isSilent: boolean): Promise<Record<string, string>> {
    const left = Math.ceil((push.expiresAt.getTime() - this.options.clock.now().getTime()) / 1_000);
    return {
      authorization: await this.#authorization(origin),
      'content-encoding': 'aes128gcm',
      'content-type': 'application/octet-stream',
      ttl: String(Math.min(MAX_TTL_SECONDS, Math.max(0, left))),
      urgency: isSilent ? 'normal' : 'high',
    };
  }

  async #authorization(origin: string): Promise<string> {
    const { subject, clock, keys } = this.options;
    const now = clock.now().getTime();
    const known = this.#tokens.get(origin);
    const isFresh = known !== undefined && Math.abs(now - known.signedAt) < TOKEN_LIFE_MS / 2;
    const signed = () => vapidToken(this.#key, { origin, subject, expiresAt: new Date(now + TOKEN_LIFE_MS) });
    const current = isFresh ? known : { token: signed(), signedAt: now };
    this.#tokens.set(origin, current);
    return `vapid t=${await current.token}, k=${keys.publicKey}`;
  }
}

interface BrowserMessage {
  readonly text: string;
  readonly isSilent: boolean;
  readonly isTooLarge: boolean;
}

function browserMessage({ objectId, message: { bodies, body } }: VendorPush): BrowserMessage {
  const message = JSON.parse(bodies['web'] ?? body) as JsonObject;
  const text = JSON.stringify({ id: objectId, ...message, _id: objectId });
  return { text, isSilent: message['silent'] === true, isTooLarge: Buffer.byteLength(text) > MAX_TEXT_BYTES };
}

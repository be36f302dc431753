import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '#bootstrap';
import type { VendorCredentials } from '#contracts';
import { ProviderToken } from '../access-tokens.js';
import { Http2Client, Http2Error, ofAnotherServer, outcomeWithoutAnswer } from '../http2-client.js';
import {
  type CheckProblem,
  objectIn,
  type Outcome,
  retryAfterMs,
  type VendorChannel,
  type VendorPush,
  type VendorTarget,
} from '../vendor-channel.rules.js';
import { answerOf, apnsMessage, type ApnsMessage, apnsOutcome, apnsTopic, isApnsToken } from './apns.rules.js';

const TIMEOUT_MS = 10_000;
const MAX_CHECKED_TOPICS = 10;

const PROBLEMS: Readonly<Record<string, string>> = {
  InvalidProviderToken: 'Apple does not accept the key: check teamId, keyId and the .p8 file of this key.',
  ExpiredProviderToken: 'Apple says that the sign-in is too old: check the clock of this server.',
  BadEnvironmentKeyIdInToken: 'The key is for the other environment: create a key for Sandbox & Production.',
  BadEnvironmentKeyInToken: 'The key is for the other environment: create a key for Sandbox & Production.',
  UnrelatedKeyIdInToken: 'The key does not belong to the team: check teamId and keyId.',
  TopicDisallowed: 'The topic is not an app of the team: check topics.',
  BadTopic: 'The topic is not a bundle id: check topics.',
};

/** One channel serves one team in one environment. */
export class ApnsChannel implements VendorChannel {
  readonly targetsPerRequest = 1;
  readonly #client: Http2Client;
  readonly #token: ProviderToken;
  readonly #topics: readonly string[];
  #messages: { readonly push: VendorPush; readonly byPlatform: Map<string, ApnsMessage | string> } | undefined;

  constructor(
    credentials: VendorCredentials<'apns'>,
    topics: readonly string[],
    private readonly environment: 'dev' | 'prod',
    private readonly server: { readonly url: string; readonly connections: number; readonly clock: Clock },
  ) {
    this.#client = new Http2Client(server.url, { connections: server.connections, timeoutMs: TIMEOUT_MS });
    this.#token = new ProviderToken(credentials, server.clock);
    this.#topics = topics;
  }

  async send(push: VendorPush, targets: readonly VendorTarget[]): Promise<Outcome[]> {
    return Promise.all(targets.map((target) => this.#sendOne(push, target)));
  }

  async check(): Promise<CheckProblem | undefined> {
    for (const topic of this.#topics.slice(0, MAX_CHECKED_TOPICS)) {
      // No device has a random token: this answer shows that Apple accepts everything else.
      const headers = {
        'apns-topic': topic,
        'apns-push-type': 'background',
        'apns-priority': '5',
        'apns-expiration': '0',
      };
      const body = '{"aps":{"content-available":1}}';
      const result = await this.#request(randomBytes(32).toString('hex'), headers, body).catch((error: unknown) =>
        error instanceof Http2Error ? error.message : String(error),
      );
      if (typeof result === 'string') return { isRefusal: false, text: `No answer from Apple: ${result}.` };
      const { answer } = result;
      const { reason } = answerOf(answer.text, answer.status);
      if (answer.status === 200 || reason === 'BadDeviceToken' || reason === 'Unregistered') continue;
      const isRefusal = apnsOutcome(answer.status, answer.text, 'prod').kind !== 'later';
      return { isRefusal, text: `${topic}: ${PROBLEMS[reason] ?? 'Apple refuses.'} (${reason})` };
    }
    return undefined;
  }

  close(): void {
    this.#client.close();
  }

  async #sendOne(push: VendorPush, target: VendorTarget): Promise<Outcome> {
    if (!isApnsToken(target.token)) return { kind: 'rejected', reason: 'BadDeviceToken' };
    const message = this.#messageOf(push, target.platform);
    if (typeof message === 'string') return { kind: 'rejected', reason: message };
    const topic = apnsTopic(push, target, this.#topics, message.pushType);
    if (topic === undefined) return { kind: 'rejected', reason: 'MissingTopic' };
    const headers = { ...message.headers, 'apns-topic': topic, 'apns-id': requestId(push, target) };
    return this.#attempt(target, headers, message.body(target.badge), true);
  }

  async #attempt(
    target: VendorTarget,
    headers: Readonly<Record<string, string>>,
    body: string,
    mayRenew: boolean,
  ): Promise<Outcome> {
    try {
      const { signed, answer } = await this.#request(target.token, headers, body);
      const requestedDelayMs = retryAfterMs(answer.headers['retry-after'], this.server.clock.now());
      const outcome = apnsOutcome(answer.status, answer.text, this.environment, requestedDelayMs);
      const isExpired = outcome.kind === 'credentials' && outcome.reason === 'ExpiredProviderToken';
      if (isExpired && mayRenew && (await this.#token.renew(signed)))
        return await this.#attempt(target, headers, body, false);
      return outcome;
    } catch (error) {
      if (!(error instanceof Http2Error)) return { kind: 'credentials', reason: 'the key cannot sign' };
      return outcomeWithoutAnswer(error);
    }
  }

  async #request(token: string, headers: Readonly<Record<string, string>>, body: string) {
    const signed = await this.#token.get();
    const authorization = `bearer ${signed}`;
    const answer = await this.#client.request({
      path: `/3/device/${token}`,
      headers: { authorization, ...headers },
      body,
    });
    const { status, text } = answer;
    const isOfApple = status < 400 ? status === 200 && text === '' : 'reason' in objectIn(text);
    if (!isOfApple && status < 500 && status !== 429) throw ofAnotherServer(status);
    return { signed, answer };
  }

  #messageOf(push: VendorPush, platform: string): ApnsMessage | string {
    if (this.#messages?.push !== push) this.#messages = { push, byPlatform: new Map() };
    const { byPlatform } = this.#messages;
    const known = byPlatform.get(platform) ?? apnsMessage(push, platform);
    byPlatform.set(platform, known);
    return known;
  }
}

/** The same for every attempt at a device: a UUID of version 8. */
function requestId({ objectId }: VendorPush, target: VendorTarget): string {
  const bytes = createHash('sha256').update(`${objectId} ${target.objectId}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import type { Clock } from '#bootstrap';
import type { JsonObject, JsonValue } from '#contracts';
import { isJsonObject } from '#objects';
import { type OutboundClient, OutboundError } from '#outbound';
import { type AccessToken, AccessTokens } from '../access-tokens.js';
import { Http2Client, Http2Error, ofAnotherServer, outcomeWithoutAnswer } from '../http2-client.js';
import {
  type CheckProblem,
  codeOf,
  merged,
  objectIn,
  objectOr,
  type Outcome,
  retryAfterMs,
  textOr,
  type VendorChannel,
  type VendorPush,
  type VendorTarget,
} from '../vendor-channel.rules.js';
import type { ServiceAccount } from '../vendor-credentials.service.js';

// Facts: Firebase, REST reference `projects.messages` and "FCM error codes"; LeanCloud's client reads `data.payload` beside a notification.

const MAX_BYTES = 4_096;
const MAX_TTL_SECONDS = 2_419_200;
const RESERVED_KEY = /^(?:from|message_type|(?:google|gcm)[._].*)$/;

const CODE = /^[A-Z_]{1,40}$/;
/** Google's time for a 429 without `Retry-After`. */
const QUOTA_BACK_OFF_MS = 60_000;
/** Devices in a row with a 429 after which the quota of the project may be used up. */
const MAX_REFUSED_DEVICES = 3;
/** The project has no key of Apple or of browsers for this token, or another project has its app: other tokens work. */
const OF_TOKEN = new Set(['THIRD_PARTY_AUTH_ERROR', 'SENDER_ID_MISMATCH']);
const ABOUT_TOKEN = /registration token/i;
/** FCM gives a message that is too large the code of an invalid token, without a field. */
const ABOUT_SIZE = /too (?:big|large)/i;
const TOO_LARGE = 'message too large';

/** Distinguishes the quota of the project from the rate of a device: FCM has one answer for both. */
class QuotaRefusals {
  readonly #tokens = new Set<string>();

  /** @returns an outcome for the lane if FCM has refused several devices in a row */
  withScope(token: string, outcome: Outcome): Outcome {
    if (outcome.kind === 'accepted') this.#tokens.clear();
    if (outcome.kind !== 'later' || outcome.scope === 'lane') return outcome;
    this.#tokens.add(token);
    if (this.#tokens.size < MAX_REFUSED_DEVICES) return outcome;
    this.#tokens.clear();
    return { ...outcome, scope: 'lane' };
  }
}

const TIMEOUT_MS = 20_000;
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

interface FcmOptions {
  readonly account: ServiceAccount;
  readonly url: string;
  readonly tokenUrl: string;
  readonly connections: number;
  readonly outbound: Pick<OutboundClient, 'send'>;
  readonly clock: Clock;
}

class SignInError extends Error {
  constructor(
    readonly isRefused: boolean,
    reason: string,
    readonly backOffMs?: number,
  ) {
    super(reason);
  }
}

export class FcmChannel implements VendorChannel {
  readonly targetsPerRequest = 1;
  readonly #client: Http2Client;
  readonly #token: AccessTokens;
  readonly #refusals = new QuotaRefusals();
  #message: { readonly push: VendorPush; readonly content: JsonObject | string } | undefined;

  constructor(private readonly options: FcmOptions) {
    const { url, connections } = options;
    this.#client = new Http2Client(url, { connections, timeoutMs: TIMEOUT_MS });
    this.#token = new AccessTokens(() => signIn(options));
  }

  async send(push: VendorPush, targets: readonly VendorTarget[]): Promise<Outcome[]> {
    const content = this.#contentOf(push);
    if (typeof content === 'string') return targets.map(() => ({ kind: 'rejected', reason: content }));
    return Promise.all(
      targets.map(async ({ token }) =>
        this.#refusals.withScope(token, await this.#attempt({ message: { token, ...content } }, true)),
      ),
    );
  }

  async check(): Promise<CheckProblem | undefined> {
    const project = this.options.account.project_id;
    try {
      const message = { token: 'no-device-has-this-token', data: { payload: '{}' } };
      const { status, text } = await this.#request(await this.#token.get(), { validate_only: true, message });
      const { reason } = fcmReason(text, status);
      // The token is the only mistake: Google accepts everything else.
      if (status === 200 || reason === 'INVALID_ARGUMENT' || reason === 'UNREGISTERED') return undefined;
      const isRefusal = status < 500 && status !== 429;
      if (reason !== 'PERMISSION_DENIED') return { isRefusal, text: `Google refuses. (${reason})` };
      return {
        isRefusal,
        text: `Google does not let this account send for the project ${project}: enable the Firebase Cloud Messaging API (V1) and give the account the role Firebase Admin. (${reason})`,
      };
    } catch (error) {
      if (!(error instanceof SignInError && error.isRefused))
        return { isRefusal: false, text: `No answer from Google: ${(error as Error).message}.` };
      return {
        isRefusal: true,
        text: `serviceAccount: Google does not accept it. Its key may have expired or been deleted: generate a new private key in the Firebase console (Project settings, Service accounts). Or the clock of this server is wrong. (${error.message})`,
      };
    }
  }

  close(): void {
    this.#client.close();
  }

  async #attempt(body: JsonObject, mayRenew: boolean): Promise<Outcome> {
    try {
      const token = await this.#token.get();
      const { status, headers, text } = await this.#request(token, body);
      const outcome = fcmOutcome(status, text, retryAfterMs(headers['retry-after'], this.options.clock.now()));
      if (status !== 401 || outcome.kind !== 'credentials' || !mayRenew) return outcome;
      this.#token.forget(token);
      return await this.#attempt(body, false);
    } catch (error) {
      if (error instanceof SignInError) return outcomeOf(error);
      if (!(error instanceof Http2Error)) return { kind: 'credentials', reason: 'the key cannot sign' };
      return outcomeWithoutAnswer(error);
    }
  }

  async #request(token: string, body: JsonObject) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const path = `/v1/projects/${this.options.account.project_id}/messages:send`;
    const answer = await this.#client.request({ path, headers, body: JSON.stringify(body) });
    const { status, text } = answer;
    const isOfGoogle = (status < 400 ? 'name' : 'error') in objectIn(text);
    if (!isOfGoogle && status < 500 && status !== 429) throw ofAnotherServer(status);
    return answer;
  }

  #contentOf(push: VendorPush): JsonObject | string {
    if (this.#message?.push !== push) this.#message = { push, content: fcmMessage(push, this.options.clock.now()) };
    return this.#message.content;
  }
}

function outcomeOf({ isRefused, backOffMs }: SignInError): Outcome {
  if (isRefused) return { kind: 'credentials', reason: 'the service account is refused' };
  return { kind: 'later', reason: 'no access token', scope: 'lane', ...(backOffMs === undefined ? {} : { backOffMs }) };
}

async function signIn({ account, tokenUrl, outbound, clock }: FcmOptions): Promise<AccessToken> {
  const assertion = await new SignJWT({ scope: SCOPE })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(account.client_email)
    .setAudience(tokenUrl)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(createPrivateKey(account.private_key));
  const body = new URLSearchParams({ grant_type: GRANT, assertion }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await outbound.send(new URL(tokenUrl), { method: 'POST', headers, body }).catch((error: unknown) => {
    throw new SignInError(false, error instanceof OutboundError ? error.message : 'no answer');
  });
  const { access_token: token, expires_in: seconds, error } = objectIn(answer.text);
  const isOfGoogle = (token ?? error) !== undefined;
  if (!isOfGoogle || answer.status >= 500 || answer.status === 429)
    throw new SignInError(false, `status ${answer.status}`, retryAfterMs(answer.retryAfter, clock.now()));
  if (answer.status !== 200 || typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    throw new SignInError(true, codeOf(error) || `status ${answer.status}`);
  return { token, seconds: typeof seconds === 'number' ? seconds : 3_600 };
}

/** @returns a text with the reason if FCM would refuse the message */
export function fcmMessage(push: VendorPush, now: Date): JsonObject | string {
  const payload = push.message.bodies['android'] ?? push.message.body;
  const body = JSON.parse(payload) as JsonObject;
  const block = isJsonObject(push.data['fcm']) ? push.data['fcm'] : {};
  const isSilent = body['silent'] === true;
  const texts = isSilent ? {} : notificationOf(body, block);
  const notification = merged(texts, block['notification']);
  const channel = body['_notificationChannel'];
  const own = { tag: push.objectId, ...(channel === undefined ? {} : { channel_id: channel }) };
  const shown = isShown(notification, block) ? { notification: own } : {};
  const seconds = Math.min(MAX_TTL_SECONDS, Math.max(0, Math.ceil((push.expiresAt.getTime() - now.getTime()) / 1_000)));
  const android = merged({ ttl: `${seconds}s`, priority: isSilent ? 'NORMAL' : 'HIGH', ...shown }, block['android']);
  const data = { payload, ...textsOf(block['data']) };
  if (Object.keys(data).some((key) => RESERVED_KEY.test(key))) return 'reserved data key';
  const content = { ...(Object.keys(notification).length === 0 ? {} : { notification }), data };
  if (Buffer.byteLength(JSON.stringify(content)) > MAX_BYTES) return TOO_LARGE;
  return { ...content, android };
}

/** For FCM, a message without either notification is a data message. */
function isShown(notification: JsonObject, block: JsonObject): boolean {
  return Object.keys(notification).length > 0 || isJsonObject(objectOr(block['android'])['notification']);
}

/** On Android, `alert` is a text; an object in the form of iOS is read as well. */
function notificationOf(body: JsonObject, block: JsonObject): JsonObject {
  const alert = block['alert'] ?? body['alert'];
  const own: JsonObject = isJsonObject(alert) ? alert : {};
  const title = block['title'] ?? body['title'] ?? own['title'];
  const text = typeof alert === 'string' ? alert : own['body'];
  return {
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof text === 'string' ? { body: text } : {}),
  };
}

function textsOf(data: JsonValue | undefined): Record<string, string> {
  if (!isJsonObject(data)) return {};
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

export function fcmOutcome(status: number, text: string, backOffMs: number | undefined): Outcome {
  if (status === 200) return { kind: 'accepted' };
  const { reason, isAboutToken } = fcmReason(text, status);
  if (reason === 'UNREGISTERED') return { kind: 'invalid', reason };
  if (reason === 'INVALID_ARGUMENT' && isAboutToken) return { kind: 'invalid', reason, isDoubtful: true };
  if (status === 429 || status >= 500) return laterAfter(status, reason, backOffMs);
  if (OF_TOKEN.has(reason)) return { kind: 'rejected', reason };
  return { kind: status === 401 || status === 403 ? 'credentials' : 'rejected', reason };
}

/** A 429 without a time may be for the rate of one device, 240 messages a minute. */
function laterAfter(status: number, reason: string, backOffMs: number | undefined): Outcome {
  if (backOffMs !== undefined) return { kind: 'later', reason, scope: 'lane', backOffMs };
  return status === 429
    ? { kind: 'later', reason, scope: 'device', backOffMs: QUOTA_BACK_OFF_MS }
    : { kind: 'later', reason, scope: 'lane' };
}

/** @returns the error code, bounded; `isAboutToken`: the message itself was valid */
function fcmReason(text: string, status: number): { reason: string; isAboutToken: boolean } {
  const error = objectOr(objectIn(text)['error']);
  const details = Array.isArray(error['details']) ? error['details'].filter(isJsonObject) : [];
  const code = details.map((detail) => detail['errorCode']).find((one) => typeof one === 'string') ?? error['status'];
  const named = typeof code === 'string' && CODE.test(code) ? code : `status ${status}`;
  const message = textOr(error['message'], '');
  const violations = details.flatMap((detail) => detail['fieldViolations'] ?? []);
  const isOfToken =
    violations.length === 0
      ? ABOUT_TOKEN.test(message)
      : violations.every((violation) => objectOr(violation)['field'] === 'message.token');
  const isTooLarge = named === 'INVALID_ARGUMENT' && violations.length === 0 && ABOUT_SIZE.test(message);
  const reason = isTooLarge ? TOO_LARGE : named;
  return { reason, isAboutToken: details.some((detail) => 'errorCode' in detail) && isOfToken };
}

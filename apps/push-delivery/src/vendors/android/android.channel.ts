import { createHash } from 'node:crypto';
import type { Clock } from '#bootstrap';
import type { JsonObject } from '#contracts';
import { type OutboundClient, OutboundError, type OutboundRequest } from '#outbound';
import { type AccessToken, AccessTokens } from '../access-tokens.js';
import {
  ANDROID_VENDORS,
  type CheckProblem,
  codeOf,
  objectIn,
  objectOr,
  type Outcome,
  retryAfterMs,
  textOr,
  textsOfBlock,
  type VendorChannel,
  type VendorPush,
  type VendorTarget,
} from '../vendor-channel.rules.js';

// Facts: LeanCloud's Java SDK (mixpush) and its guide for `data`: what the receivers in shipped apps read.

export interface AndroidMessage {
  readonly pushId: string;
  /** 31 bits from the id: a second notification with it replaces the first. */
  readonly notifyId: number;
  /** The JSON text that devices of the own channel get. */
  readonly payload: string;
  readonly title: string;
  readonly text: string;
  readonly isSilent: boolean;
  readonly custom: JsonObject;
  readonly channel: string | undefined;
  readonly seconds: number;
  readonly block: JsonObject;
}

export interface VendorCall {
  readonly url: string;
  readonly method?: 'GET';
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is encoded already. Absent: the JSON is sent. */
  readonly form?: Readonly<Record<string, string>> | string;
  readonly json?: JsonObject;
}

/** A body that is no JSON object is an empty one. */
export interface VendorAnswer {
  readonly status: number;
  readonly body: JsonObject;
  readonly backOffMs?: number | undefined;
}

export interface AndroidSend extends Pick<VendorPush, 'keyNo' | 'isRepeat'> {
  readonly message: AndroidMessage;
  readonly tokens: readonly string[];
  readonly accessToken: string;
  readonly now: Date;
}

/** The vendor's requests and answers, without time-outs, retries and connections. */
export interface AndroidProtocol {
  readonly block: string;
  readonly tokensPerRequest: number;
  readonly signIn?: {
    readonly call: (now: Date) => VendorCall;
    readonly tokenOf: (answer: VendorAnswer) => AccessToken | undefined;
  };
  readonly refuses?: (message: AndroidMessage) => string | undefined;
  /** @returns one outcome for each token in order, or `signIn` if the access token has expired */
  readonly send: (
    send: AndroidSend,
    call: (request: VendorCall) => Promise<VendorAnswer>,
  ) => Promise<readonly Outcome[] | 'signIn'>;
  /** The vendor names each invalid token once; absent where it keeps no list. */
  readonly invalidTokens?: (call: (request: VendorCall) => Promise<VendorAnswer>) => Promise<readonly string[]>;
}

const DEFAULT_CHANNEL_MEMBERS = new Set(['alert', 'title', 'silent', 'action', 'badge', 'sound']);

const NO_TOKEN = 'no-device-has-this-token';
const CHECK_LIFE_MS = 3_600_000;
const MAX_LIST_PAGES = 50;
const FIRST = { keyNo: 0, isRepeat: false };

interface AndroidOptions {
  readonly protocol: AndroidProtocol;
  readonly outbound: OutboundClient;
  readonly clock: Clock;
  readonly title: string;
}

class RefusedError extends Error {}

/** Nothing was sent: the vendor gives no access token now. */
class NoTokenError extends Error {
  constructor(readonly answer: VendorAnswer) {
    super(`status ${answer.status}`);
  }
}

export class AndroidChannel implements VendorChannel {
  readonly targetsPerRequest: number;
  readonly #token = new AccessTokens(() => this.#signIn());
  #last: { readonly push: VendorPush; readonly message: AndroidMessage } | undefined;

  constructor(private readonly options: AndroidOptions) {
    this.targetsPerRequest = options.protocol.tokensPerRequest;
  }

  async send(push: VendorPush, targets: readonly VendorTarget[]): Promise<readonly Outcome[]> {
    const tokens = targets.map(({ token }) => token);
    const message = this.#messageOf(push);
    const refusal = this.options.protocol.refuses?.(message);
    if (refusal !== undefined) return forAll(tokens, { kind: 'rejected', reason: refusal });
    try {
      return await this.#attempt(message, tokens, push, true);
    } catch (error) {
      if (error instanceof RefusedError) return forAll(tokens, { kind: 'credentials', reason: error.message });
      // Not `later`: the vendor may have taken the message in an earlier attempt, whose request id stays.
      if (error instanceof NoTokenError)
        return forAll(tokens, { ...laterFor(error.answer, 'no access token'), kind: 'unsure' });
      if (!(error instanceof OutboundError)) throw error;
      // The request may have left.
      return forAll(tokens, { kind: 'unsure', reason: 'no answer', scope: 'lane' });
    }
  }

  async check(): Promise<CheckProblem | undefined> {
    try {
      await (this.options.protocol.signIn === undefined ? this.#sendToInvalidToken() : this.#token.get());
      return undefined;
    } catch (error) {
      if (!(error instanceof RefusedError))
        return { isRefusal: false, text: `No answer from the vendor: ${(error as Error).message}.` };
      const text = `The vendor does not accept the ids and the secret: compare them with its console, and check the clock of this server. (${error.message})`;
      return { isRefusal: true, text };
    }
  }

  async *invalidTokens(): AsyncGenerator<readonly string[]> {
    const { protocol } = this.options;
    for (let page = 0; protocol.invalidTokens !== undefined && page < MAX_LIST_PAGES; page += 1) {
      const tokens = await protocol.invalidTokens((call) => this.#call(call));
      if (tokens.length === 0) return;
      yield tokens;
    }
  }

  close(): void {
    this.#last = undefined;
  }

  async #attempt(
    message: AndroidMessage,
    tokens: readonly string[],
    { keyNo, isRepeat }: Pick<VendorPush, 'keyNo' | 'isRepeat'>,
    mayRenew: boolean,
  ): Promise<readonly Outcome[]> {
    const { protocol, clock } = this.options;
    const accessToken = await this.#token.get();
    const send = { message, tokens, accessToken, keyNo, isRepeat, now: clock.now() };
    const outcomes = await protocol.send(send, (call) => this.#call(call));
    if (outcomes !== 'signIn') return outcomes;
    this.#token.forget(accessToken);
    if (mayRenew) return this.#attempt(message, tokens, { keyNo, isRepeat }, false);
    return forAll(tokens, { kind: 'credentials', reason: 'the access token is refused' });
  }

  async #sendToInvalidToken(): Promise<void> {
    const expiresAt = new Date(this.options.clock.now().getTime() + CHECK_LIFE_MS);
    const message = { body: '{"alert":"Check"}', bodies: {} };
    const push = { appId: '', objectId: NO_TOKEN, data: {}, message, prod: 'prod' as const, expiresAt, ...FIRST };
    const [outcome] = await this.#attempt(this.#messageOf(push), [NO_TOKEN], push, false);
    if (outcome?.kind === 'credentials') throw new RefusedError(outcome.reason);
  }

  async #signIn(): Promise<AccessToken> {
    const { protocol, clock } = this.options;
    if (protocol.signIn === undefined) return { token: '', seconds: Infinity };
    const answer = await this.#call(protocol.signIn.call(clock.now()));
    if (answer.status >= 500 || answer.status === 429) throw new NoTokenError(answer);
    const access = protocol.signIn.tokenOf(answer);
    if (access === undefined || !/^[\x21-\x7e]+$/.test(access.token)) throw new RefusedError(signInRefusal(answer));
    return access;
  }

  async #call({ url, method, headers = {}, form, json }: VendorCall): Promise<VendorAnswer> {
    const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
    const encoded = typeof form === 'object' ? new URLSearchParams(form).toString() : form;
    const body = encoded ?? JSON.stringify(json ?? {});
    const options: OutboundRequest =
      method === 'GET' ? { method, headers } : { method: 'POST', headers: { 'content-type': type, ...headers }, body };
    const { status, text, retryAfter } = await this.options.outbound.send(new URL(url), options);
    const answer = objectIn(text);
    const isOfVendor = status >= 400 || Object.keys(answer).length > 0;
    if (!isOfVendor) throw new OutboundError(`status ${status} without JSON`);
    return { status, body: answer, backOffMs: retryAfterMs(retryAfter, this.options.clock.now()) };
  }

  #messageOf(push: VendorPush): AndroidMessage {
    const { protocol, title, clock } = this.options;
    if (this.#last?.push !== push)
      this.#last = { push, message: androidMessage(push, { block: protocol.block, title, now: clock.now() }) };
    return this.#last.message;
  }
}

export function androidMessage(
  push: VendorPush,
  { block: name, title, now }: { readonly block: string; readonly title: string; readonly now: Date },
): AndroidMessage {
  const payload = push.message.bodies['android'] ?? push.message.body;
  const body = JSON.parse(payload) as JsonObject;
  const block = objectOr(push.data[name]);
  const texts = textsOfBlock(name, block);
  const alert = texts.alert ?? body['alert'];
  const own = objectOr(alert);
  const custom = Object.entries(body).filter(
    ([name]) => !DEFAULT_CHANNEL_MEMBERS.has(name) && !name.startsWith('_') && !ANDROID_VENDORS.has(name),
  );
  return {
    pushId: push.objectId,
    notifyId: createHash('sha256').update(push.objectId).digest().readUInt32BE(0) >>> 1,
    payload,
    title: textOr(texts.title ?? body['title'] ?? own['title'], title),
    text: textOr(alert, textOr(own['body'], '')),
    isSilent: body['silent'] === true,
    custom: Object.fromEntries(custom),
    channel: typeof body['_notificationChannel'] === 'string' ? body['_notificationChannel'] : undefined,
    seconds: Math.max(1, Math.ceil((push.expiresAt.getTime() - now.getTime()) / 1_000)),
    block,
  };
}

/** The intent that opens the app from a notification, as LeanCloud's SDK for Huawei and Honor reads it. */
export function clickIntent(host: string, custom: JsonObject): string {
  const content = encodeURIComponent(JSON.stringify(custom));
  return `intent://${host}/notify_detail?S.content=${content}#Intent;scheme=lcpushscheme;launchFlags=0x10000000;end`;
}

export function forAll(tokens: readonly string[], outcome: Outcome): Outcome[] {
  return tokens.map(() => outcome);
}

export function acceptedBut(tokens: readonly string[], listed: readonly string[], reason: string): Outcome[] {
  const invalid = new Set(listed);
  return tokens.map((token) =>
    invalid.has(token) ? { kind: 'invalid', reason, isDoubtful: true } : { kind: 'accepted' },
  );
}

export function byStatus(answer: VendorAnswer, code: string): Outcome {
  const { status } = answer;
  const reason = code === '' ? `status ${status}` : `code ${code}`;
  if (status === 429 || status >= 500) return laterFor(answer, reason);
  return status === 401 || status === 403 ? { kind: 'credentials', reason } : { kind: 'rejected', reason };
}

function signInRefusal({ status, body }: VendorAnswer): string {
  const { code, result, error } = body;
  return `sign-in refused: ${codeOf(error ?? code ?? result) || `status ${status}`}`;
}

/** The vendor asks for fewer requests, and perhaps for none for a while. */
export function laterFor({ backOffMs }: VendorAnswer, reason: string): Extract<Outcome, { kind: 'later' }> {
  return { kind: 'later', reason, scope: 'lane', ...(backOffMs === undefined ? {} : { backOffMs }) };
}

import type { Clock } from '#bootstrap';
import { type OutboundClient, OutboundError, type OutboundRequest } from '#outbound';
import { type AccessToken, AccessTokens } from '../access-tokens.js';
import { objectIn, retryAfterMs } from '../vendor-json.rules.js';
import type { CheckProblem, Outcome, VendorChannel, VendorPush, VendorTarget } from '../vendor.types.js';
import {
  type AndroidMessage,
  androidMessage,
  type AndroidProtocol,
  forAll,
  type VendorAnswer,
  type VendorCall,
} from './android-message.js';

/** A token that no device has. */
const NO_TOKEN = 'no-device-has-this-token';
const CHECK_LIFE_MS = 3_600_000;
/** Answers of a list that are read at once. */
const MAX_LIST_PAGES = 50;
const FIRST = { keyNo: 0, isRepeat: false };

interface AndroidOptions {
  readonly protocol: AndroidProtocol;
  readonly outbound: OutboundClient;
  readonly clock: Clock;
  /** The title of pushes without one. */
  readonly title: string;
}

/** The vendor has refused the credentials. */
class RefusedError extends Error {}

/** Sends to the devices of an Android vendor by its HTTP interface. */
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
      if (!(error instanceof OutboundError)) throw error;
      // The request may have left.
      return forAll(tokens, { kind: 'unsure', reason: 'no answer' });
    }
  }

  async check(): Promise<CheckProblem | undefined> {
    try {
      await (this.options.protocol.signIn === undefined ? this.#sendToNobody() : this.#token.get());
      return undefined;
    } catch (error) {
      if (!(error instanceof RefusedError))
        return { isRefusal: false, text: `No answer from the vendor: ${(error as Error).message}.` };
      const text = `The vendor does not accept the ids and the secret: compare them with its console. (${error.message})`;
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

  /** A message to a token that no device has. @throws RefusedError, OutboundError */
  async #sendToNobody(): Promise<void> {
    const expiresAt = new Date(this.options.clock.now().getTime() + CHECK_LIFE_MS);
    const message = { body: '{"alert":"Check"}', bodies: {} };
    const push = { appId: '', objectId: NO_TOKEN, data: {}, message, prod: 'prod' as const, expiresAt, ...FIRST };
    const [outcome] = await this.#attempt(this.#messageOf(push), [NO_TOKEN], push, false);
    if (outcome?.kind === 'credentials') throw new RefusedError(outcome.reason);
  }

  /** @throws RefusedError, OutboundError */
  async #signIn(): Promise<AccessToken> {
    const { protocol, clock } = this.options;
    if (protocol.signIn === undefined) return { token: '', seconds: Infinity };
    const answer = await this.#call(protocol.signIn.call(clock.now()));
    if (answer.status >= 500 || answer.status === 429) throw new OutboundError(`status ${answer.status}`);
    const access = protocol.signIn.tokenOf(answer);
    if (access === undefined || !/^[\x21-\x7e]+$/.test(access.token)) throw new RefusedError('the sign-in is refused');
    return access;
  }

  async #call({ url, method, headers = {}, form, json }: VendorCall): Promise<VendorAnswer> {
    const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
    const encoded = typeof form === 'object' ? new URLSearchParams(form).toString() : form;
    const body = encoded ?? JSON.stringify(json ?? {});
    const options: OutboundRequest =
      method === 'GET' ? { method, headers } : { method: 'POST', headers: { 'content-type': type, ...headers }, body };
    const { status, text, retryAfter } = await this.options.outbound.send(new URL(url), options);
    return { status, body: objectIn(text), restMs: retryAfterMs(retryAfter, this.options.clock.now()) };
  }

  #messageOf(push: VendorPush): AndroidMessage {
    const { protocol, title, clock } = this.options;
    if (this.#last?.push !== push)
      this.#last = { push, message: androidMessage(push, { blocks: protocol.blocks, title, now: clock.now() }) };
    return this.#last.message;
  }
}

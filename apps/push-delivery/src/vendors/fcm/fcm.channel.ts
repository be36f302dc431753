import { importPKCS8, SignJWT } from 'jose';
import type { Clock } from '#bootstrap';
import type { JsonObject } from '#contracts';
import { type OutboundClient, OutboundError } from '#outbound';
import { type AccessToken, AccessTokens } from '../access-tokens.js';
import { Http2Client, Http2Error } from '../http2-client.js';
import type { ServiceAccount } from '../vendor-credentials.js';
import { objectIn, retryAfterMs } from '../vendor-json.rules.js';
import type { CheckProblem, Outcome, VendorChannel, VendorPush, VendorTarget } from '../vendor.types.js';
import { fcmMessage, fcmOutcome, fcmReason, QuotaRefusals } from './fcm.rules.js';

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

/** The sign-in of a service account has failed. The message can be logged. */
class SignInError extends Error {
  constructor(
    /** Google has refused the account, so a repetition is useless. */
    readonly isRefused: boolean,
    reason: string,
  ) {
    super(reason);
  }
}

/** Sends to Android devices by the HTTP v1 interface of Firebase Cloud Messaging. */
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
        this.#refusals.judge(token, await this.#attempt({ message: { token, ...content } }, true)),
      ),
    );
  }

  async check(): Promise<CheckProblem | undefined> {
    const project = this.options.account.project_id;
    try {
      const message = { token: 'no-device-has-this-token', data: { payload: '{}' } };
      const { status, text } = await this.#request(await this.#token.get(), { validate_only: true, message });
      const { reason } = fcmReason(text, status);
      // The token is the only mistake of the message: Google accepts everything else.
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
        text: `serviceAccount: Google does not accept it. Its key may have expired or been deleted: generate a new private key in the Firebase console (Project settings, Service accounts). (${error.message})`,
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
      if (error instanceof SignInError)
        return error.isRefused
          ? { kind: 'credentials', reason: 'the service account is refused' }
          : { kind: 'later', reason: 'no access token', slowsLane: true };
      if (!(error instanceof Http2Error)) return { kind: 'credentials', reason: 'the key cannot sign' };
      return {
        kind: error.isUnprocessed ? 'later' : 'unsure',
        reason: `no answer (${error.message})`,
        slowsLane: true,
      };
    }
  }

  #request(token: string, body: JsonObject) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const path = `/v1/projects/${this.options.account.project_id}/messages:send`;
    return this.#client.request({ path, headers, body: JSON.stringify(body) });
  }

  #contentOf(push: VendorPush): JsonObject | string {
    if (this.#message?.push !== push) this.#message = { push, content: fcmMessage(push, this.options.clock.now()) };
    return this.#message.content;
  }
}

/** @throws SignInError */
async function signIn({ account, tokenUrl, outbound }: FcmOptions): Promise<AccessToken> {
  const key = await importPKCS8(account.private_key, 'RS256');
  const assertion = await new SignJWT({ scope: SCOPE })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(account.client_email)
    .setAudience(tokenUrl)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(key);
  const body = new URLSearchParams({ grant_type: GRANT, assertion }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await outbound.send(new URL(tokenUrl), { method: 'POST', headers, body }).catch((error: unknown) => {
    throw new SignInError(false, error instanceof OutboundError ? error.message : 'no answer');
  });
  if (answer.status >= 500 || answer.status === 429) throw new SignInError(false, `status ${answer.status}`);
  const { access_token: token, expires_in: seconds } = objectIn(answer.text);
  if (answer.status !== 200 || typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    throw new SignInError(true, `status ${answer.status}`);
  return { token, seconds: typeof seconds === 'number' ? seconds : 3_600 };
}

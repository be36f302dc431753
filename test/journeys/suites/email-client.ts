import { setTimeout as sleep } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import {
  ApiClient,
  type ApiReply,
  type AppKeys,
  createApplication,
  eventually,
  type GatepostServer,
  type Json,
  linkSentBy,
  type MailedLink,
  mailSentBy,
  mailsTo,
  type ReceivedMail,
  setSetting,
  signUp,
  type TestUser,
  unique,
} from '#testing';
import { EFFECTIVE_MS } from './platform-apps.js';

export const LINK_EXPIRED = [400, 1, 'The link has expired or was already used. Request a new one.'];

/** An address that no other test uses. */
export function uniqueEmail(domain = 'example.com'): string {
  return `${unique('mail')}@${domain}`;
}

/** Pages and a language that an application may have of its own. */
export const OWN_PAGES = {
  verifyEmailPage: 'https://shop.example/verify',
  resetPasswordPage: 'https://shop.example/account?page=reset&lang=zh',
  mailLanguage: 'zh',
};

/** Applications that want addresses verified. Made once: each command takes its time. */
export interface MailingApps {
  /** As it is by default, but for that. */
  readonly verifying: AppKeys;
  /** Has `OWN_PAGES`. */
  readonly own: AppKeys;
  /** Has `quietProfile` and `forbidUnverifiedEmailLogin`. */
  readonly quiet: AppKeys;
}

export async function createMailingApps(server: GatepostServer): Promise<MailingApps> {
  const create = async (settings: Readonly<Record<string, string>>) => {
    const app = await createApplication(server);
    await changeSettings(server, app, { verifyEmailOnSignUp: 'true', ...settings });
    return app;
  };
  const [verifying, own, quiet] = await Promise.all([
    create({}),
    create(OWN_PAGES),
    create({ quietProfile: 'true', forbidUnverifiedEmailLogin: 'true' }),
  ]);
  return { verifying, own, quiet };
}

/** Changes settings, and waits until they work everywhere. */
export async function changeSettings(
  server: GatepostServer,
  app: AppKeys,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, value] of Object.entries(settings)) await setSetting(server, app, name, value);
  await sleep(EFFECTIVE_MS);
}

/** A client with an e-mail address. */
export class EmailClient {
  constructor(
    private readonly server: GatepostServer,
    readonly keys: AppKeys = server.app,
    readonly address = uniqueEmail(),
  ) {}

  /** A client of one of the gateways. */
  api(gateway = 0): ApiClient {
    return ApiClient.forApp(this.#baseUrl(gateway), this.keys);
  }

  master(): ApiClient {
    return ApiClient.forMaster(this.#baseUrl(0), this.keys);
  }

  /** A client that sends nothing but its request, as the page behind a link does. */
  page(gateway = 0): ApiClient {
    return new ApiClient(this.#baseUrl(gateway), {});
  }

  /** Asks for a path as a scanner of mails does: no endpoint says that it answers HEAD. */
  async head(path: string): Promise<void> {
    await fetch(`${this.#baseUrl(0)}${path}`, { method: 'HEAD' });
  }

  /** Posts the address, and what is given, to a path below /1.1. */
  post(path: string, body: Json = {}): Promise<ApiReply> {
    return this.api().post(`/1.1/${path}`, { email: this.address, ...body });
  }

  signUp(fields: Json = {}): Promise<TestUser> {
    return signUp(this.api(), { email: this.address, ...fields });
  }

  /** Signs up, and waits for the link that verifies the address. */
  async signUpForLink(fields: Json = {}): Promise<{ user: TestUser; link: MailedLink }> {
    const users: TestUser[] = [];
    const link = await linkSentBy(this.server, this.address, async () => {
      users.push(await this.signUp(fields));
      return { status: 201, body: {} };
    });
    return { user: users[0]!, link };
  }

  /** The link that a request brings to the address. */
  linkBy(path: 'requestEmailVerify' | 'requestPasswordReset'): Promise<MailedLink> {
    return linkSentBy(this.server, this.address, () => this.post(path));
  }

  /** The link that the address gets by a request of another client. */
  linkOf(request: () => Promise<ApiReply>): Promise<MailedLink> {
    return linkSentBy(this.server, this.address, request);
  }

  mailOf(request: () => Promise<ApiReply>): Promise<ReceivedMail> {
    return mailSentBy(this.server, this.address, request);
  }

  mails(): Promise<ReceivedMail[]> {
    return mailsTo(this.server, this.address);
  }

  /** The mails to the address, after another one has arrived that was asked for later. */
  async mailsOnceSettled(): Promise<ReceivedMail[]> {
    const other = new EmailClient(this.server, this.keys);
    const { body } = await other.signUp();
    const signUpMails = body['emailVerified'] === false ? 1 : 0;
    await eventually(async () => {
      if ((await other.mails()).length < signUpMails) throw new Error('the mail of the sign-up is not there yet');
    });
    await other.linkBy('requestPasswordReset');
    return this.mails();
  }

  verify(token: string, gateway = 0): Promise<ApiReply> {
    return this.page(gateway).post(`/1.1/verifyEmail/${token}`);
  }

  reset(token: string, password: unknown, gateway = 0): Promise<ApiReply> {
    return this.page(gateway).post(`/1.1/resetPassword/${token}`, { password });
  }

  /** Asks as a page of another origin does, and runs the script that is answered. @returns what the callback was given */
  async jsonp(path: string, parameters: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const search = new URLSearchParams({ ...parameters, callback: 'done' }).toString();
    const { status, headers, text } = await this.page().get(`/1.1/${path}?${search}`);
    const type = headers.get('content-type') ?? '';
    if (status !== 200 || !type.includes('javascript')) throw new Error(`no script: ${status} ${type} ${text}`);
    let given: unknown;
    runInNewContext(text, { done: (result: unknown) => (given = result) });
    return JSON.parse(JSON.stringify(given));
  }

  /** The user of a session. */
  async me(session: string, gateway = 0): Promise<Json> {
    return (await this.api(gateway).get('/1.1/users/me', { session })).body;
  }

  logIn(password: string): Promise<ApiReply> {
    return this.post('login', { password });
  }

  change(user: TestUser, fields: Json): Promise<ApiReply> {
    return this.api().put(`/1.1/users/${user.id}`, fields, { session: user.session });
  }

  #baseUrl(gateway: number): string {
    const { baseUrls } = this.server;
    return baseUrls[gateway % baseUrls.length] ?? '';
  }
}

/** The answer to a link that is no longer valid. */
export async function outcomeOf(reply: Promise<ApiReply>): Promise<unknown[]> {
  const { status, body } = await reply;
  return [status, body['code'], body['error']];
}

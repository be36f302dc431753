import { sign } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type Provider from 'oidc-provider';
import { newSigningKey } from './platforms/apple-platform.js';

const CLIENT_ID = 'console';
const CLIENT_SECRET = 'canary-client-secret-of-the-issuer';

/** The claims of an account. */
export interface IssuerPerson {
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
  readonly groups?: readonly string[];
}

/** An OpenID Connect issuer (`oidc-provider`) on loopback, whose accounts have no passwords. */
export class OidcIssuer {
  /** By subject. */
  readonly people = new Map<string, IssuerPerson>();
  readonly clientSecret = CLIENT_SECRET;
  /** Changes ID tokens on their way. */
  tamper: ((idToken: string) => string) | undefined;
  /** `away`: each connection is closed. `failing`: each answer is 502. `silent`: none comes. */
  fault: 'away' | 'failing' | 'silent' | undefined;
  readonly #key = newSigningKey().privateKey;
  #provider: Provider | undefined;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<OidcIssuer> {
    const server = createServer();
    const issuer = new OidcIssuer(server);
    server.on('request', (request, response) => void issuer.#handle(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return issuer;
  }

  get url(): string {
    return `http://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  /** The variables of a console that uses it. */
  get env(): Record<string, string> {
    return {
      GATEPOST_CONSOLE_OIDC_ISSUER: this.url,
      GATEPOST_CONSOLE_OIDC_CLIENT_ID: CLIENT_ID,
      GATEPOST_CONSOLE_OIDC_CLIENT_SECRET: CLIENT_SECRET,
    };
  }

  /** Lets consoles at these origins use it. */
  async serve(...origins: readonly string[]): Promise<void> {
    const { default: Library } = await import('oidc-provider');
    const provider: Provider = new Library(this.url, {
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: CLIENT_SECRET,
          redirect_uris: origins.map((origin) => `${origin}/api/oidc/callback`),
        },
      ],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
      cookies: { keys: ['cookies of a test'] },
      features: { devInteractions: { enabled: false } },
      findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub, ...this.#claimsOf(sub) }) }),
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      jwks: { keys: [{ ...this.#key.export({ format: 'jwk' }), use: 'sig' }] },
      async loadExistingGrant({ oidc: { client, session } }) {
        const grant = new provider.Grant({ clientId: client?.clientId ?? '', accountId: session?.accountId ?? '' });
        grant.addOIDCScope('openid email profile groups');
        await grant.save();
        return grant;
      },
      ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 600, IdToken: 60, Interaction: 600, Session: 600 },
    });
    provider.use(async (ctx, next) => {
      await next();
      const body = ctx.body as { id_token?: string } | undefined;
      if (this.tamper !== undefined && typeof body?.id_token === 'string') body.id_token = this.tamper(body.id_token);
    });
    this.#provider = provider;
  }

  /** An ID token with these claims instead of its own, signed by the issuer. */
  resigned(idToken: string, claims: object): string {
    const [head = '', body = ''] = idToken.split('.');
    const own = JSON.parse(Buffer.from(body, 'base64url').toString()) as object;
    const signed = `${head}.${Buffer.from(JSON.stringify({ ...own, ...claims })).toString('base64url')}`;
    return `${signed}.${sign('sha256', Buffer.from(signed), this.#key).toString('base64url')}`;
  }

  /** A browser of a person, with a session at the issuer once it has signed in. */
  browser(subject: string): IssuerBrowser {
    return new IssuerBrowser(subject);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #claimsOf(subject: string): Record<string, unknown> {
    const { groups, ...person } = this.people.get(subject) ?? {};
    return { ...person, ...(groups === undefined ? {} : { groups: [...groups] }) };
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.fault === 'silent') return;
    if (this.fault === 'away') request.destroy();
    else if (this.fault === 'failing' || this.#provider === undefined) response.writeHead(502).end();
    else if (request.url?.startsWith('/interaction/') === true) await this.#signIn(this.#provider, request, response);
    else await this.#provider.callback()(request, response);
  }

  /** A form in place of a password: the name of the account, or a refusal. */
  async #signIn(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      response.writeHead(200, { 'content-type': 'text/html' }).end(FORM);
      return;
    }
    const form = new URLSearchParams(await text(request));
    const accountId = form.get('account') ?? '';
    const result = form.has('deny') ? { error: 'access_denied' } : { login: { accountId } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }
}

const FORM = `<!doctype html><html lang="en"><title>Test issuer</title><h1>Test issuer</h1>
<form method="post"><label>Account <input name="account"></label>
<button>Continue</button><button name="deny" value="1">Refuse</button></form></html>`;

/** Follows redirects without a page. */
export class IssuerBrowser {
  readonly #cookies = new Map<string, string>();

  constructor(private readonly subject: string) {}

  /** Signs in. @returns the query with which the issuer sends the browser back */
  async visit(url: string, form: Readonly<Record<string, string>> = { account: this.subject }): Promise<string> {
    const { origin } = new URL(url);
    let next = url;
    while (next.startsWith(origin)) next = await this.#follow(next, form);
    return new URL(next).search.slice(1);
  }

  async #follow(url: string, form: Readonly<Record<string, string>>): Promise<string> {
    const body = new URL(url).pathname.startsWith('/interaction/') ? new URLSearchParams(form) : null;
    const cookie = [...this.#cookies].map((pair) => pair.join('=')).join('; ');
    const init = { method: body === null ? 'GET' : 'POST', body, redirect: 'manual', headers: { cookie } } as const;
    const response = await fetch(url, init);
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split(/=(.*)/s, 2);
      this.#cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`the issuer has answered ${response.status}: ${await response.text()}`);
    return new URL(location, url).href;
  }
}

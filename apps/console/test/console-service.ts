import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import type { RunningService } from '#bootstrap';
import { consoleApi, type ConsoleRoute, pathOf, type Role } from '#console-api';
import { consoleRpc, operatorMailsRpc } from '#contracts';
import { migrate } from '#database';
import { FakeTransport, newDatabase, serveOver, unique } from '#testing';
import { ConsoleCleanup } from '../src/audit/audit.repository.js';
import { consoleConfig, consoleEnvironment } from '../src/console.config.js';
import type { Broker } from '../src/console.config.js';
import { ConsoleDatabase, consoleDatabase } from '../src/console.database.js';
import { ConsoleModule } from '../src/console.module.js';
import { createConsoleServer, prepareConsoleServer } from '../src/http-server.js';
import { ConsoleController } from '../src/operators/console.controller.js';
import { OperatorsRepository } from '../src/operators/operators.repository.js';
import { RequestCache } from '../src/routing/console-handler.js';

export const PASSWORD = 'correct horse battery';

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string[] | string | undefined>>;
  readonly text: string;
  /** The JSON of the answer; `{}` where it has another form. */
  readonly body: Record<string, unknown>;
}

/** The console over a database of its own, with planned answers in place of the other services. */
export class TestConsole {
  private constructor(
    readonly service: RunningService,
    readonly transport: FakeTransport,
  ) {}

  /** @param env `DATABASE_URL` names a database to share @param broker where dead letters wait */
  static async start(env: Readonly<Record<string, string>> = {}, broker: Broker | null = null): Promise<TestConsole> {
    const url = env['DATABASE_URL'] ?? (await newDatabase());
    await migrate(consoleDatabase(url, 1));
    const transport = new FakeTransport();
    transport.answer(operatorMailsRpc.invite, () => ({ isQueued: false }));
    const config = consoleConfig(
      consoleEnvironment.parse({
        DATABASE_URL: url,
        GATEPOST_PASSWORD_COST: '4',
        GATEPOST_SECRET: randomBytes(32).toString('hex'),
        NODE_ENV: 'test',
        ...env,
      }),
    );
    const service = await serveOver(transport, {
      name: 'console',
      serves: ['console'],
      imports: [ConsoleModule.forRoot(config, broker)],
      http: createConsoleServer(config),
      prepare: prepareConsoleServer,
    });
    return new TestConsole(service, transport);
  }

  get origin(): string {
    return `http://localhost:${this.port}`;
  }

  get port(): number {
    return this.service.port;
  }

  get database(): ConsoleDatabase {
    return this.service.app.get(ConsoleDatabase);
  }

  get cleanup(): ConsoleCleanup {
    return this.service.app.get(ConsoleCleanup);
  }

  get operators(): OperatorsRepository {
    return this.service.app.get(OperatorsRepository);
  }

  get rpc(): ConsoleController {
    return this.service.app.get(ConsoleController);
  }

  /** The next request of each shared route reads again. */
  forgetAnswers(): void {
    this.service.app.get(RequestCache).clear();
  }

  visitor(): Visitor {
    return new Visitor(this);
  }

  /** The token of a new set-up link. */
  async setUpToken(): Promise<string> {
    const { link } = consoleRpc.createSetUpLink.reply.parse(await this.rpc.createSetUpLink({ by: 'test' }));
    return link?.url.split('#')[1] ?? '';
  }

  /** A visitor who is signed in as the first owner. */
  async owner(): Promise<Visitor> {
    const visitor = this.visitor();
    const body = { token: await this.setUpToken(), name: 'Ada', address: 'ada@example.com', password: PASSWORD };
    const { status, text } = await visitor.call(consoleApi.setUp, { body });
    if (status !== 200) throw new Error(text);
    return visitor;
  }

  /** A visitor who is signed in with a role for an application. */
  async withRole(owner: Visitor, role: Role, appId: string): Promise<Visitor> {
    const address = `${unique(role)}@example.com`;
    const invitation = { name: role, address, isOwner: false, grants: [{ appId, role }] };
    const { body } = await owner.call(consoleApi.inviteOperator, { body: invitation });
    const { link } = body as { link: { url: string } };
    const visitor = this.visitor();
    const used = { token: link.url.split('#')[1] ?? '', password: PASSWORD };
    const { status, text } = await visitor.call(consoleApi.useLink, { body: used });
    if (status !== 200) throw new Error(text);
    return visitor;
  }

  async stop(): Promise<void> {
    await this.service.stop();
  }
}

interface Call {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Replaces headers that a page of the console sends; undefined leaves one out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** A browser with the page of a console that listens on this port of localhost. */
export class Visitor {
  /** Of the session. */
  cookie: string | undefined;
  /** Of sign-ins by the issuer that are under way. */
  readonly oidcCookies = new Map<string, string>();

  constructor(private readonly console: { readonly port: number }) {}

  async call(
    { method, path }: ConsoleRoute,
    { params = {}, query = {}, body, headers = {} }: Call = {},
  ): Promise<ConsoleAnswer> {
    const search = new URLSearchParams(query).toString();
    const answer = await this.send(method, `/api${pathOf(path, params)}${search === '' ? '' : `?${search}`}`, {
      headers: { ...this.#headers(method, path), ...headers },
      text: isRead(method) ? '' : JSON.stringify(body ?? {}),
    });
    for (const line of answer.headers['set-cookie'] ?? []) this.#keep(line);
    return answer;
  }

  #keep(line: string): void {
    const [pair = ''] = line.split(';');
    const [name = ''] = pair.split('=');
    if (!name.includes('-oidc-')) this.cookie = pair;
    else if (line.includes('Max-Age=0')) this.oidcCookies.delete(name);
    else this.oidcCookies.set(name, pair);
  }

  /** Reads the beginning of an answer, and closes the connection. */
  async abandon(route: ConsoleRoute, call: Call): Promise<void> {
    const response = await this.#open(route, call);
    await once(response, 'data');
    response.destroy();
  }

  /** Reads the head of an answer and nothing more. @returns what closes the connection */
  async stall(route: ConsoleRoute, call: Call): Promise<() => void> {
    const response = await this.#open(route, call);
    return () => response.destroy();
  }

  async #open({ path }: ConsoleRoute, { params = {}, query = {} }: Call): Promise<IncomingMessage> {
    const request = httpRequest({
      host: '127.0.0.1',
      port: this.console.port,
      path: `/api${pathOf(path, params)}?${new URLSearchParams(query).toString()}`,
      headers: this.#headers('GET', path),
    }).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  }

  #headers(method: string, path: string): Record<string, string> {
    const session = this.cookie === undefined ? [] : [this.cookie];
    const cookies = path.startsWith('/oidc/') ? [...session, ...this.oidcCookies.values()] : session;
    const change = {
      origin: `http://localhost:${this.console.port}`,
      'content-type': 'application/json',
      'x-gatepost-console': '1',
    };
    return {
      host: `localhost:${this.console.port}`,
      'sec-fetch-site': 'same-origin',
      ...(isRead(method) ? {} : change),
      ...(cookies.length === 0 ? {} : { cookie: cookies.join('; ') }),
    };
  }

  /** `fetch` would not send the headers that only browsers set. */
  async send(
    method: string,
    path: string,
    { headers, text = '' }: { headers: Readonly<Record<string, string | undefined>>; text?: string },
  ): Promise<ConsoleAnswer> {
    const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
    const length = text === '' ? {} : { 'content-length': String(Buffer.byteLength(text)) };
    const address = { host: '127.0.0.1', port: this.console.port };
    const request = httpRequest({ ...address, method, path, headers: { ...given, ...length } });
    request.end(text);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const answer = Buffer.concat(chunks).toString('utf8');
    return { status: response.statusCode ?? 0, headers: response.headers, text: answer, body: jsonOf(answer) };
  }
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

function jsonOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

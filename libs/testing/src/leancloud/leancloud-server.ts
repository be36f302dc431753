import { createHash, randomBytes } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { FileHost } from './file-host.js';
import {
  archiveOf,
  type ExportRequest,
  leanCloudHash,
  LeanCloudStore,
  QueryError,
  type Row,
  shown,
} from './leancloud-store.js';

const HOST = '127.0.0.1';
const MOST_ROWS = 1_000;
const DEFAULT_ROWS = 100;
const EXPORT_FIELDS = ['from_date', 'to_date', 'classes', 'only-schema', 'email'];
/** They need the master key. */
const OWNERS_ENDPOINTS = ['GET schemas', 'GET scan', 'POST exportData', 'GET exportData'];
/** A text that the API shows as a whole number of any size, which Java's clients can store. */
const LONG = /"long:(\d+)"/g;
const TEN_MINUTES_MS = 600_000;
/** As LeanCloud's message of an archived application reads. */
const ARCHIVED = 'The app is archived, please restore in console before use.';

interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  readonly isMaster: boolean;
}

interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body: unknown;
}

interface Cursor {
  readonly className: string;
  readonly where: string;
  readonly lastId: string;
  readonly endsAtMs: number;
}

interface Export {
  readonly request: ExportRequest;
  pollsLeft: number;
  url: string | undefined;
}

/** The differences of the stand-in from a healthy LeanCloud; tests change them at any time. */
interface Behaviour {
  /** This many of the next requests are answered so. */
  storm: { count: number; status: number; retryAfter: string | undefined };
  isArchived: boolean;
  /** How often an export is `running` before it is done. */
  exportPolls: number;
  /** Columns of `_User` that exports lack. */
  exportLacks: string[];
  cursorLifeMs: number;
  /** Time that each request takes. */
  delayMs: number;
  /** Connections of requests whose path contains this text are cut, so many times. */
  cut: { path: string; count: number };
}

/**
 * LeanCloud's REST API for one application, on loopback, as far as an owner needs it to leave: schemas, scan, queries, counts, relations,
 * exports, files, and the log-in of its SDKs. It is strict: it checks keys and signatures, and refuses what LeanCloud refuses.
 */
export class LeanCloudServer {
  readonly appId = `${randomBytes(12).toString('hex')}-gzGzoHsz`;
  readonly appKey = randomBytes(12).toString('hex');
  /** A test may replace it. */
  masterKey = randomBytes(12).toString('hex');
  readonly store = new LeanCloudStore();
  readonly behaviour: Behaviour = {
    storm: { count: 0, status: 429, retryAfter: undefined },
    isArchived: false,
    exportPolls: 1,
    exportLacks: [],
    cursorLifeMs: TEN_MINUTES_MS,
    delayMs: 0,
    cut: { path: '', count: 0 },
  };
  /** `GET /1.1/date`, and what else has been asked. */
  readonly calls: string[] = [];
  /** The most requests that were in progress at once. */
  mostAtOnce = 0;
  readonly #cursors = new Map<string, Cursor>();
  readonly #exports = new Map<string, Export>();
  #atOnce = 0;

  private constructor(
    private readonly server: Server,
    readonly files: FileHost,
  ) {}

  static async start(): Promise<LeanCloudServer> {
    const server = createServer();
    const stand = new LeanCloudServer(server, await FileHost.start());
    server.on('request', (request, response) => {
      void stand.#handle(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
    return stand;
  }

  get url(): string {
    return `http://${HOST}:${(this.server.address() as AddressInfo).port}`;
  }

  /** Adds a file: its row and its content on the host of files. */
  addFile(name: string, content: Buffer): Row {
    const key = randomBytes(8).toString('hex');
    this.files.contents.set(`/${key}`, content);
    const metaData = { size: content.length };
    return this.store.put('_File', { name, key, url: `${this.files.url}/${key}`, metaData, mime_type: 'text/plain' });
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    await this.files.stop();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce);
    const answer = await this.#answer(request, response).catch(errorAnswer);
    this.#atOnce -= 1;
    const { status = 200, headers = {}, body } = answer;
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body).replaceAll(LONG, '$1'));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<Answer> {
    const { method = '', headers } = request;
    const { pathname, searchParams: query } = new URL(request.url ?? '/', this.url);
    const text = Buffer.concat(await request.toArray()).toString();
    this.calls.push(`${method} ${decodeURIComponent(pathname + (query.size === 0 ? '' : `?${query.toString()}`))}`);
    await sleep(this.behaviour.delayMs);
    this.#cut(pathname, response);
    const { isKnown, isMaster } = this.#credentials(headers);
    if (!isKnown) return { status: 401, body: { code: 401, error: 'Unauthorized.' } };
    if (this.behaviour.isArchived) return { status: 400, body: { code: 1, error: ARCHIVED } };
    const stormed = this.#stormed();
    if (stormed !== undefined) return stormed;
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    return this.#route({ method, path: pathname, query, headers, body, isMaster });
  }

  #cut(pathname: string, response: ServerResponse): void {
    const { cut } = this.behaviour;
    if (cut.count === 0 || !pathname.includes(cut.path)) return;
    cut.count -= 1;
    response.destroy();
  }

  #stormed(): Answer | undefined {
    const { storm } = this.behaviour;
    if (storm.count === 0) return undefined;
    storm.count -= 1;
    const { status, retryAfter } = storm;
    const wait: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
    return { status, headers: wait, body: { code: status, error: 'Too many requests.' } };
  }

  /** `X-LC-Key: <key>[,master]`, or `X-LC-Sign: <md5 of time and key>,<time>[,master]`. */
  #credentials(headers: IncomingHttpHeaders): { isKnown: boolean; isMaster: boolean } {
    const [key, keySuffix] = partsOf(headers['x-lc-key']);
    const [sign, time = '', signSuffix] = partsOf(headers['x-lc-sign']);
    const isMaster = (key === undefined ? signSuffix : keySuffix) === 'master';
    const wanted = isMaster ? this.masterKey : this.appKey;
    const signed = createHash('md5').update(`${time}${wanted}`).digest('hex');
    return { isKnown: headers['x-lc-id'] === this.appId && (key === wanted || sign === signed), isMaster };
  }

  async #route(call: Call): Promise<Answer> {
    const [, version, first = '', second = '', third = ''] = call.path.split('/').map(decodeURIComponent);
    const endpoint = version === '1.1' ? `${call.method} ${first}` : '';
    if (OWNERS_ENDPOINTS.includes(endpoint) && !call.isMaster)
      throw new QueryError(403, 'Forbidden by master key.', 403);
    const answers: Readonly<Record<string, () => unknown>> = {
      'GET date': () => ({ __type: 'Date', iso: new Date().toISOString() }),
      'GET schemas': () => this.store.schemas,
      'GET scan': () => this.#scan(third, call.query),
      'GET classes': () => this.#query(second, call.query),
      'GET roles': () => this.#query('_Role', call.query),
      'POST exportData': () => this.#startExport(call.body),
      'GET exportData': () => this.#exportState(second),
    };
    const answer = answers[endpoint];
    return answer === undefined ? this.#routeUsers(call, endpoint, second) : { body: await answer() };
  }

  #routeUsers(call: Call, endpoint: string, id: string): Answer {
    if (endpoint === 'POST users') return this.#signUp(call.body);
    if (endpoint === 'POST login') return this.#logIn(call.body);
    if (endpoint !== 'GET users') throw new QueryError(1, 'Not Found.', 404);
    if (id === 'me') return this.#me(textOf(call.headers['x-lc-session']) ?? call.query.get('session_token') ?? '');
    return { body: id === '' ? this.#query('_User', call.query) : this.#user(id, call.isMaster) };
  }

  #user(id: string, isMaster: boolean): unknown {
    const row = this.store.classes.get('_User')?.get(id);
    if (row === undefined) throw new QueryError(211, 'Could not find user.', 404);
    return isMaster ? { ...shown(row), sessionToken: row['sessionToken'] } : shown(row);
  }

  #scan(className: string, query: URLSearchParams): unknown {
    const where = query.get('where') ?? '{}';
    const cursor = this.#cursorOf(query.get('cursor'), className, where);
    const limit = limitOf(query);
    const rows = this.store
      .find(className, JSON.parse(where) as Record<string, unknown>)
      .filter(({ objectId }) => cursor === undefined || objectId > cursor.lastId);
    const results = rows.slice(0, limit);
    const lastId = results.at(-1)?.objectId;
    if (rows.length <= limit || lastId === undefined) return { results: results.map(shown) };
    const next = randomBytes(8).toString('hex');
    this.#cursors.set(next, { className, where, lastId, endsAtMs: performance.now() + this.behaviour.cursorLifeMs });
    return { results: results.map(shown), cursor: next };
  }

  #cursorOf(token: string | null, className: string, where: string): Cursor | undefined {
    if (token === null) return undefined;
    const cursor = this.#cursors.get(token);
    if (cursor?.className === className && cursor.where === where && cursor.endsAtMs >= performance.now())
      return cursor;
    throw new QueryError(1, 'The cursor is invalid or expired.');
  }

  #query(className: string, query: URLSearchParams): unknown {
    const rows = this.store.find(className, JSON.parse(query.get('where') ?? '{}') as Record<string, unknown>);
    const skip = Number(query.get('skip') ?? 0);
    const results = rows.slice(skip, skip + limitOf(query)).map((row) => pickKeys(shown(row), query.get('keys')));
    return query.get('count') === '1' ? { results, count: rows.length } : { results };
  }

  #startExport(request: ExportRequest): unknown {
    const unknown = Object.keys(request).find((field) => !EXPORT_FIELDS.includes(field));
    if (unknown !== undefined) throw new QueryError(1, `Invalid parameter ${unknown}.`);
    const id = randomBytes(24).toString('hex');
    this.#exports.set(id, { request, pollsLeft: this.behaviour.exportPolls, url: undefined });
    return { status: 'running', id, app_id: this.appId };
  }

  async #exportState(id: string): Promise<unknown> {
    const found = this.#exports.get(id);
    if (found === undefined) throw new QueryError(1, 'Export task not found.', 404);
    found.pollsLeft -= 1;
    if (found.pollsLeft >= 0) return { status: 'running', id, app_id: this.appId };
    if (found.url === undefined) {
      const path = `/export/${this.appId}-export${randomBytes(12).toString('hex')}.tar.gz`;
      this.files.contents.set(path, await archiveOf(this.store, found.request, this.behaviour.exportLacks));
      found.url = `${this.files.url}${path}`;
    }
    return { status: 'done', download_url: found.url, id, app_id: this.appId };
  }

  #signUp({ username, password, ...fields }: Record<string, unknown>): Answer {
    if (typeof username !== 'string' || username === '') throw new QueryError(200, 'Username is missing or empty');
    if (typeof password !== 'string' || password === '') throw new QueryError(201, 'Password is missing or empty');
    if (this.store.find('_User', { username }).length > 0)
      throw new QueryError(202, 'Username has already been taken.');
    const { objectId, createdAt, sessionToken } = this.store.putUser(username, password, fields);
    return { status: 201, body: { objectId, createdAt, sessionToken } };
  }

  #logIn({ username, email, mobilePhoneNumber, password }: Record<string, unknown>): Answer {
    const given = Object.entries({ username, email, mobilePhoneNumber }).filter(([, value]) => value !== undefined);
    const [row] = this.store.find('_User', Object.fromEntries(given));
    if (row === undefined || given.length === 0) throw new QueryError(211, 'Could not find user.');
    const hash = typeof password === 'string' ? leanCloudHash(String(row['salt']), password) : '';
    if (hash !== row['password']) throw new QueryError(210, 'The username and password mismatch.');
    return { body: { ...shown(row), sessionToken: row['sessionToken'] } };
  }

  #me(sessionToken: string): Answer {
    const [row] = sessionToken === '' ? [] : this.store.find('_User', { sessionToken });
    if (row === undefined) throw new QueryError(211, 'Could not find user.');
    return { body: { ...shown(row), sessionToken } };
  }
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}

function partsOf(header: string | string[] | undefined): string[] {
  return textOf(header)?.split(',') ?? [];
}

function limitOf(query: URLSearchParams): number {
  return Math.min(Number(query.get('limit') ?? DEFAULT_ROWS), MOST_ROWS);
}

function pickKeys(row: Record<string, unknown>, keys: string | null): Record<string, unknown> {
  if (keys === null) return row;
  const wanted = new Set([...keys.split(','), 'objectId', 'createdAt', 'updatedAt']);
  return Object.fromEntries(Object.entries(row).filter(([field]) => wanted.has(field)));
}

function errorAnswer(error: unknown): Answer {
  if (error instanceof QueryError) return { status: error.status, body: { code: error.code, error: error.message } };
  if (error instanceof SyntaxError) return { status: 400, body: { code: 107, error: 'Malformed json object.' } };
  return { status: 500, body: { code: 1, error: String(error) } };
}

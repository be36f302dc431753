import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunningService } from '#bootstrap';
import { accountsRpc, objectsRpc } from '#contracts';
import { appError, ERRORS, type ErrorName } from '#errors';
import type { FakeTransport } from '#testing';
import { APPLICATION, fakeServices, GATEWAY_CONFIG as config, startGateway } from './start-gateway.js';

/** Connections of this machine, where the system lists them. */
const CONNECTIONS = '/proc/net/tcp';
const LONGEST_BACKLOG = '/proc/sys/net/core/somaxconn';

const signed = { 'x-lc-id': APPLICATION.id, 'x-lc-key': APPLICATION.appKey };
const user = {
  objectId: 'a'.repeat(24),
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  username: 'ada',
};

interface Sent {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

describe('the gateway with a fake accounts service', () => {
  let accounts: FakeTransport;
  let service: RunningService;
  const send = (path: string, init: Sent = {}) =>
    fetch(`http://127.0.0.1:${service.port}${path}`, { ...init, headers: { ...signed, ...init.headers } });
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    send(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });

  const connected = async () => {
    const socket = connect(service.port, '127.0.0.1');
    await once(socket, 'connect');
    let answers = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (answers += chunk));
    return { socket, received: () => answers };
  };

  beforeAll(async () => {
    accounts = fakeServices();
    service = await startGateway(accounts);
  });
  afterAll(() => service.stop());
  beforeEach(() => {
    accounts.calls.length = 0;
    accounts.answer(accountsRpc.signUp, () => ({ user, isNew: true }));
    accounts.answer(accountsRpc.logIn, () => ({ user }));
    accounts.answer(accountsRpc.getUser, () => ({ user }));
  });

  it.each(['/\\', 'http://['])('refuses a text/plain form for the URL %s, which is none', async (url) => {
    const socket = connect(service.port, '127.0.0.1');
    socket.write(
      `POST ${url} HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
    );
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(answer).toMatch(/"code":\d+/);
  });

  it.each(['X-AVOSCloud', 'X-Uluru'])(
    'lets browsers send the older header names %s-…, and a request id',
    async (prefix) => {
      const { headers } = await send('/1.1/users', {
        method: 'OPTIONS',
        headers: { origin: 'https://shop.example', 'access-control-request-method': 'PUT' },
      });
      const allowed = (headers.get('access-control-allow-headers') ?? '').toLowerCase().split(/, ?/);
      const parts = ['Application-Id', 'Application-Key', 'Master-Key', 'Session-Token', 'Client-Version'];
      const names = [...parts.map((part) => `${prefix}-${part}`), 'X-AVOSCloud-Request-Sign', 'X-Request-Id'];
      expect(allowed).toEqual(expect.arrayContaining(names.map((name) => name.toLowerCase())));
    },
  );

  it('keeps all members of a text/plain body whose credentials are in headers', async () => {
    const body = { username: 'ada', password: 'p', _method: 'PUT', _custom: 1 };
    const { status } = await post('/1.1/users', body, { 'content-type': 'text/plain;charset=UTF-8' });
    expect(status).toBe(201);
    expect(accounts.calls.at(-1)?.data).toMatchObject({ fields: body });
  });

  it('answers 404 where the route of overridden requests is named itself', async () => {
    expect((await post('/method-override', {})).status).toBe(404);
  });

  it('calls accounts once for a request, with the caller and the body', async () => {
    const response = await post(
      '/1.1/users',
      { username: 'ada' },
      { 'x-lc-session': 'token', 'x-request-id': 'request-0001' },
    );
    expect([response.status, await response.json()]).toEqual([201, user]);
    expect(accounts.calledPatterns).toEqual(['accounts.signUp']);
    expect(accounts.calls.at(-1)?.data).toEqual({
      caller: { requestId: 'request-0001', appId: APPLICATION.id, isMaster: false, sessionToken: 'token' },
      fields: { username: 'ada' },
    });
  });

  it('passes on the languages that a client names, in a batch too', async () => {
    const headers = { 'accept-language': 'zh-CN,zh;q=0.9,"><script>;q=0.8,en;q=0.5' };
    await post('/1.1/users', {}, headers);
    await post('/1.1/batch', { requests: [{ method: 'POST', path: '/1.1/users', body: {} }] }, headers);
    const callers = accounts.requestsOf(accountsRpc.signUp);
    const languages = ['zh-CN', 'zh', 'en'];
    expect(callers).toMatchObject([{ caller: { languages } }, { caller: { languages } }]);
  });

  it('takes the address of Location from its configuration', async () => {
    const response = await post('/1.1/users', {}, { host: 'evil.example', 'x-forwarded-host': 'evil.example' });
    expect(response.headers.get('location')).toBe(`https://api.example.com/1.1/users/${user.objectId}`);
  });

  it('answers 401 to wrong credentials without another call, and without reading the body', async () => {
    const wrong = { 'x-lc-key': 'wrong' };
    for (const response of [
      await post('/1.1/users', {}, wrong),
      await post('/1.1/users', 'x'.repeat(10_000), wrong),
      await send('/1.1/users/me', { headers: wrong }),
      await send('/1.1/unknown', { headers: wrong }),
    ]) {
      expect([response.status, await response.json()]).toEqual([401, { code: 401, error: 'Unauthorized.' }]);
    }
    expect(accounts.calledPatterns).toEqual([]);
  });

  it('caches an application for a second, so that a request needs one call', async () => {
    await Promise.all(Array.from({ length: 20 }, () => send(`/1.1/users/${user.objectId}`)));
    const lookUps = accounts.requestsOf(accountsRpc.findApplication);
    expect(lookUps.length).toBeLessThanOrEqual(2);
    expect(accounts.calledPatterns).toHaveLength(20);
  });

  it('calls no service for a malformed request', async () => {
    const answers = [
      await post('/1.1/users', [1]),
      await send('/1.1/users', { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } }),
      await send('/1.1/users/not!an!id'),
      await send('/1.1/users?where={'),
      await post('/1.1/users', { big: 'x'.repeat(config.bodyLimitBytes) }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 413]);
    expect(accounts.calledPatterns).toEqual([]);
  });

  it('shows browsers and caches what is wrong with a malformed URL', async () => {
    const response = await send('/1.1/users/%', { headers: { 'x-request-id': 'request-0002' } });
    expect([response.status, await response.json()]).toMatchObject([400, { code: 107 }]);
    const names = ['x-request-id', 'access-control-allow-origin', 'cache-control', 'pragma'];
    const headers = names.map((name) => response.headers.get(name));
    expect(headers).toEqual(['request-0002', '*', 'no-cache,no-store', 'no-cache']);
    expect(response.headers.get('access-control-expose-headers')).toContain('X-Request-Id');
    const asked = {
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'x-lc-id',
      origin: 'http://a',
    };
    const preflight = await send('/1.1/users/%', { method: 'OPTIONS', headers: asked });
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
      204,
      expect.stringContaining('x-lc-id'),
    ]);
  });

  it('shows browsers that the headers of a request are too large', async () => {
    const response = await send('/1.1/date', { headers: { 'x-long': 'x'.repeat(20_000) } });
    expect([response.status, await response.json()]).toMatchObject([431, { code: 413 }]);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('deletes as many objects of the longest ids as the API allows', async () => {
    const objectIds = Array.from({ length: 200 }, (_, index) => String(index).padStart(64, '0'));
    accounts.answer(objectsRpc.remove, () => ({}));
    expect((await send(`/1.1/roles/${objectIds.join(',')}`, { method: 'DELETE' })).status).toBe(200);
    expect(accounts.requestsOf(objectsRpc.remove)).toMatchObject([{ objectIds }]);
  });

  it('answers a body that is too long to a client that is still sending it, and serves its connection on', async () => {
    const { socket, received } = await connected();
    const half = 'x'.repeat(config.bodyLimitBytes);
    const head = `Host: x\r\nX-LC-Id: ${APPLICATION.id}\r\nX-LC-Key: ${APPLICATION.appKey}`;
    socket.write(`POST /1.1/users HTTP/1.1\r\n${head}\r\nContent-Length: ${2 * half.length}\r\n\r\n${half}`);
    await expect.poll(received).toContain('HTTP/1.1 413');
    socket.write(`${half}GET /1.1/users/${user.objectId} HTTP/1.1\r\n${head}\r\n\r\n`);
    await expect.poll(received).toContain('HTTP/1.1 200');
    socket.destroy();
  });

  it.runIf(existsSync(CONNECTIONS))('lets a thousand connections wait to be accepted', async () => {
    const sockets = Array.from({ length: 1_000 }, () => connect(service.port, '127.0.0.1'));
    // The sockets connect, but the server in this process does not accept yet.
    await new Promise((resolve) => {
      process.nextTick(resolve);
    });
    const ofServer = `:${service.port.toString(16).toUpperCase().padStart(4, '0')} 01 `;
    const open = readFileSync(CONNECTIONS, 'utf8').split(ofServer).length - 1;
    for (const socket of sockets) socket.destroy();
    expect(open).toBeGreaterThanOrEqual(Math.min(1_000, Number(readFileSync(LONGEST_BACKLOG, 'utf8'))));
  });

  it('serves a request with an unknown expectation', async () => {
    const { socket, received } = await connected();
    socket.write('GET /1.1/users HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n\r\n');
    await expect.poll(received).toMatch(/^HTTP\/1.1 401 [^]*"code":401/);
    socket.destroy();
  });

  const rows = (Object.keys(ERRORS) as ErrorName[]).filter((name) => name !== 'INTERNAL');
  it.each(rows)('answers the error %s with its status, code and text', async (name) => {
    accounts.fail(accountsRpc.logIn, appError(name));
    const response = await post('/1.1/login', {});
    const { status, code, message, retryAfterSeconds } = ERRORS[name];
    expect([response.status, await response.json()]).toEqual([status, { code, error: message }]);
    expect(response.headers.get('retry-after')).toBe(
      retryAfterSeconds === undefined ? null : String(retryAfterSeconds),
    );
  });

  it('answers an error of a newer accounts service with its own status and code', async () => {
    const error = { kind: 'AppError', name: 'LOCKED', code: 219, status: 400, message: 'locked', retryAfterSeconds: 9 };
    accounts.answerText(accountsRpc.logIn, JSON.stringify({ error }));
    const response = await post('/1.1/login', {});
    expect([response.status, await response.json(), response.headers.get('retry-after')]).toEqual([
      400,
      { code: 219, error: 'locked' },
      '9',
    ]);
  });

  it.each<[string, () => unknown]>([
    ['throws a TypeError', () => accounts.fail(accountsRpc.logIn, new TypeError('secret text'))],
    ['answers nonsense', () => accounts.answerText(accountsRpc.logIn, '{"data":{"nonsense":"secret text"}}')],
  ])('answers 500 with a fixed text where accounts %s', async (_, plan) => {
    plan();
    const response = await post('/1.1/login', {});
    expect([response.status, await response.json()]).toEqual([500, { code: 1, error: ERRORS.INTERNAL.message }]);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunningService } from '#bootstrap';
import { accountsRpc, objectsRpc } from '#contracts';
import { appError, type ErrorName, ERRORS } from '#errors';
import { eventually, type FakeTransport } from '#testing';
import { APPLICATION, fakeServices, startGateway } from './start-gateway.js';

const ID = 'a'.repeat(24);
const user = {
  objectId: ID,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  username: 'ada',
};
const SIGNED = { 'x-lc-id': APPLICATION.id, 'x-lc-key': APPLICATION.appKey, 'x-lc-session': 'token' };

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

describe('POST /1.1/batch', () => {
  let accounts: FakeTransport;
  let service: RunningService;
  const url = (path: string) => `http://127.0.0.1:${service.port}${path}`;
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    fetch(url('/1.1/batch'), {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { ...SIGNED, 'content-type': 'application/json', ...headers },
    });
  const batch = async (...requests: unknown[]): Promise<unknown> => {
    const response = await post({ requests });
    expect(response.status).toBe(200);
    return response.json();
  };
  const alone = async ({ method, path, params = {}, body }: Entry) => {
    const query = new URLSearchParams(
      Object.entries(params).map(([key, value]): [string, string] => [
        key,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    );
    const response = await fetch(url(`${path}${path.includes('?') ? '&' : '?'}${query.toString()}`), {
      method,
      headers: { ...SIGNED, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };

  beforeAll(async () => {
    accounts = fakeServices();
    service = await startGateway(accounts, [], { bodyLimitBytes: 1_048_576 });
  });
  afterAll(() => service.stop());
  beforeEach(() => {
    accounts.calls.length = 0;
    accounts.answer(accountsRpc.signUp, () => ({ user, isNew: true }));
    accounts.answer(accountsRpc.logIn, () => ({ user }));
    accounts.answer(accountsRpc.getUser, () => ({ user }));
    accounts.answer(accountsRpc.getCurrentUser, () => ({ user }));
    accounts.answer(objectsRpc.find, () => ({ results: [user], count: 1 }));
    accounts.answer(accountsRpc.updateUser, () => ({ result: { updatedAt: user.updatedAt } }));
    accounts.answer(accountsRpc.refreshSessionToken, () => ({ user }));
    accounts.answer(accountsRpc.updatePassword, () => ({ result: { updatedAt: user.updatedAt } }));
    accounts.answer(objectsRpc.remove, () => ({}));
  });

  const requests: [string, Entry][] = [
    ['a sign-up', { method: 'POST', path: '/1.1/users', body: { username: 'ada', password: 'secret' } }],
    ['a login', { method: 'POST', path: '/1.1/login', body: { username: 'ada', password: 'secret' } }],
    ['a sign-up without a body', { method: 'POST', path: '/1.1/users' }],
    ['a user', { method: 'GET', path: `/1.1/users/${ID}` }],
    ['a user under its alias', { method: 'GET', path: `/1.1/classes/_User/${ID}`, params: { keys: 'username' } }],
    ['the current user', { method: 'GET', path: '/1.1/users/me' }],
    [
      'a query',
      { method: 'GET', path: '/1.1/users', params: { where: { level: 1 }, limit: 2, count: 1, order: '-x' } },
    ],
    ['a query in the path', { method: 'GET', path: '/1.1/users?where=%7B%22level%22%3A1%7D', params: { limit: '3' } }],
    ['an escaped path', { method: 'GET', path: `/1.1/us%65rs/${ID}` }],
    ['a change', { method: 'PUT', path: `/1.1/users/${ID}`, body: { level: 2 }, params: { new: true } }],
    ['a change that is fetched', { method: 'PUT', path: `/1.1/users/${ID}?fetchWhenSave=true`, body: {} }],
    ['a new token', { method: 'PUT', path: `/1.1/users/${ID}/refreshSessionToken`, body: null }],
    ['a new password', { method: 'PUT', path: `/1.1/users/${ID}/updatePassword`, body: { old_password: 'a' } }],
    ['a deletion', { method: 'DELETE', path: `/1.1/users/${ID}`, body: {} }],
    ['the time', { method: 'GET', path: '/1.1/ping' }],
    ['an id that is none', { method: 'GET', path: '/1.1/users/no!id' }],
    ['a path that is not there', { method: 'GET', path: '/1.1/nothing' }],
    ['a method that is not there', { method: 'DELETE', path: '/1.1/login', body: {} }],
    ['a path with a wrong escape', { method: 'GET', path: '/1.1/users/%zz' }],
    ['a path that is too long', { method: 'GET', path: `/1.1/users/${'x'.repeat(9_000)}` }],
    ['a where that is no JSON', { method: 'GET', path: '/1.1/users', params: { where: '{' } }],
    ['a body that is a list', { method: 'POST', path: '/1.1/users', body: [1] }],
    ['a body that is a text', { method: 'PUT', path: `/1.1/users/${ID}`, body: 'text' }],
    ['a body with credentials', { method: 'POST', path: '/1.1/users', body: { _MasterKey: APPLICATION.masterKey } }],
    ['a body with another method', { method: 'POST', path: '/1.1/users', body: { _method: 'DELETE' } }],
  ];

  it.each(requests)('runs and answers %s as if it were sent alone', async (_, entry) => {
    const expected = await alone(entry);
    const calls = accounts.calls.flatMap(withoutRequestId);
    accounts.calls.length = 0;
    expect(await batch(entry)).toEqual([expected.status < 400 ? { success: expected.body } : { error: expected.body }]);
    expect(accounts.calls.flatMap(withoutRequestId)).toEqual(calls);
  });

  it.each(Object.keys(ERRORS) as ErrorName[])('answers an entry with the error %s of accounts', async (name) => {
    const entry = { method: 'PUT', path: `/1.1/users/${ID}`, body: {} };
    accounts.fail(accountsRpc.updateUser, appError(name));
    const { body } = await alone(entry);
    expect(await batch(entry)).toEqual([{ error: body }]);
    expect(body).toEqual({ code: ERRORS[name].code, error: ERRORS[name].message });
  });

  it('runs one request after the other, and goes on after a failure', async () => {
    const running: string[] = [];
    accounts.answer(accountsRpc.signUp, async ({ fields }) => {
      const { username } = fields as { username: string };
      running.push(`${username} begins`);
      await new Promise((resolve) => setTimeout(resolve, username === 'first' ? 50 : 1));
      running.push(`${username} ends`);
      if (username === 'second') throw appError('USERNAME_TAKEN');
      return { user: { ...user, username }, isNew: true };
    });
    const signUp = (username: string) => ({ method: 'POST', path: '/1.1/users', body: { username } });
    expect(await batch(signUp('first'), signUp('second'), signUp('third'))).toMatchObject([
      { success: { username: 'first' } },
      { error: { code: 202 } },
      { success: { username: 'third' } },
    ]);
    expect(running).toEqual(['first', 'second', 'third'].flatMap((name) => [`${name} begins`, `${name} ends`]));
  });

  it('responds after its timeout, and reports unknown outcomes as such', async () => {
    const hurried = await startGateway(accounts, [], { batchTimeoutMs: 500 });
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const signedUp: string[] = [];
    accounts.answer(accountsRpc.signUp, async ({ fields }) => {
      const { username } = fields as { username: string };
      if (username !== 'first') await released;
      signedUp.push(username);
      return { user: { ...user, username }, isNew: true };
    });
    const signUp = (username: string) => ({ method: 'POST', path: '/1.1/users', body: { username } });
    const response = await fetch(`http://127.0.0.1:${hurried.port}/1.1/batch`, {
      method: 'POST',
      body: JSON.stringify({ requests: ['first', 'second', 'third', 'fourth'].map(signUp) }),
      headers: { ...SIGNED, 'content-type': 'application/json' },
    });
    const notRun = { error: { code: 124, error: ERRORS.BATCH_NOT_RUN.message } };
    expect([response.status, await response.json()]).toEqual([
      200,
      [
        { success: { ...user, username: 'first' } },
        { error: { code: 124, error: ERRORS.BATCH_OUTCOME_UNKNOWN.message } },
        notRun,
        notRun,
      ],
    ]);
    expect(signedUp).toEqual(['first']);
    release();
    // The request that was under way completes after the answer.
    await eventually(() => {
      expect(signedUp).toEqual(['first', 'second']);
    });
    await hurried.stop();
    expect(accounts.calledPatterns).toEqual(['accounts.signUp', 'accounts.signUp']);
  });

  it('gives every request the credentials and the id of the batch', async () => {
    await post(
      { requests: [{ method: 'GET', path: '/1.1/users/me', headers: { 'X-LC-Session': 'other' } }] },
      { 'x-request-id': 'request-0001', 'x-lc-key': `${APPLICATION.masterKey},master` },
    );
    expect(accounts.calls.at(-1)?.data).toEqual({
      caller: { requestId: 'request-0001', appId: APPLICATION.id, isMaster: true, sessionToken: 'token' },
    });
  });

  it('answers 401 as a whole to wrong credentials', async () => {
    const response = await post({ requests: [{ method: 'GET', path: '/1.1/ping' }] }, { 'x-lc-key': 'wrong' });
    expect([response.status, await response.json()]).toEqual([401, { code: 401, error: 'Unauthorized.' }]);
  });

  it.each<[string, unknown]>([
    ['no list of requests', {}],
    ['requests that are no list', { requests: { 0: { method: 'GET', path: '/1.1/users' } } }],
    ['a list instead of an object', [{ method: 'GET', path: '/1.1/users' }]],
    ['101 requests', { requests: Array.from({ length: 101 }, () => ({ method: 'GET', path: '/1.1/users' })) }],
  ])('answers 400 to %s, and runs none', async (_, body) => {
    const response = await post(body);
    expect([response.status, await response.json()]).toMatchObject([400, { code: 107 }]);
    expect(accounts.calledPatterns).toEqual([]);
  });

  it('runs 100 requests, and none', async () => {
    const answers = await batch(...Array.from({ length: 100 }, () => ({ method: 'GET', path: `/1.1/users/${ID}` })));
    expect(answers).toEqual(Array.from({ length: 100 }, () => ({ success: user })));
    expect(await batch()).toEqual([]);
  });

  it('answers 413 to a body over the limit', async () => {
    const response = await post({ requests: [{ method: 'POST', path: '/1.1/users', body: 'x'.repeat(1_100_000) }] });
    expect([response.status, await response.json()]).toMatchObject([413, { code: 413 }]);
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['a text', '/1.1/users'],
    ['a list', ['GET', '/1.1/users']],
    ['an empty object', {}],
    ['no method', { path: '/1.1/users' }],
    ['an unknown method', { method: 'PATCH', path: '/1.1/users' }],
    ['a method that is no text', { method: ['GET'], path: '/1.1/users' }],
    ['a method of every object', { method: 'constructor', path: '/1.1/users' }],
    ['no path', { method: 'GET' }],
    ['a path that is no text', { method: 'GET', path: ['/1.1/users'] }],
    ['an empty path', { method: 'GET', path: '' }],
    ['a path of another version', { method: 'GET', path: '/1.2/users' }],
    ['a path without a slash', { method: 'GET', path: '1.1/users' }],
    ['a bare version', { method: 'GET', path: '/1.1' }],
    ['an absolute URL', { method: 'GET', path: 'http://localhost/1.1/users' }],
    ['the URL of another host', { method: 'GET', path: '//evil.example/1.1/users' }],
    ['a fragment', { method: 'GET', path: '/1.1/users#fragment' }],
    ['a fragment in the query', { method: 'GET', path: '/1.1/users?a=1#b' }],
    ['a step up', { method: 'GET', path: '/1.1/../metrics' }],
    ['an escaped step up', { method: 'GET', path: '/1.1/%2e%2E/metrics' }],
    ['half an escaped step up', { method: 'GET', path: '/1.1/.%2e/metrics' }],
    ['a step up at the end', { method: 'GET', path: '/1.1/users/..' }],
    ['a step to itself', { method: 'GET', path: '/1.1/./users' }],
    ['a step up with a tab', { method: 'GET', path: '/1.1/.\t./metrics' }],
    ['a line break', { method: 'GET', path: '/1.1/users\r\nx-lc-key: y' }],
    ['a backslash', { method: 'GET', path: '/1.1/\\../metrics' }],
    ['params that are a list', { method: 'GET', path: '/1.1/users', params: [1] }],
    ['params that are a text', { method: 'GET', path: '/1.1/users', params: 'where={}' }],
    ['the health of the process', { method: 'GET', path: '/healthz' }],
    ['its metrics', { method: 'GET', path: '/metrics' }],
    ['the route of overridden requests', { method: 'POST', path: '/method-override', body: { _method: 'GET' } }],
  ])('refuses an entry with %s, and runs the next', async (_, entry) => {
    expect(await batch(entry, { method: 'GET', path: '/1.1/ping' })).toMatchObject([
      { error: { code: 107, error: expect.any(String) as string } },
      { success: { status: 'ok' } },
    ]);
    expect(accounts.calledPatterns).toEqual([]);
  });

  it.each(['/1.1/..%2fmetrics', '/1.1/%2e%2e%2fmetrics', '/1.1//metrics', '/1.1/%2Fmetrics', '/1.1/;/../../metrics'])(
    'reaches nothing outside the API by %s',
    async (path) => {
      expect(await batch({ method: 'GET', path })).toMatchObject([{ error: { code: expect.any(Number) as number } }]);
    },
  );

  it.each(['/1.1/batch', '/1.1/b%61tch', '/1.1/%62%61%74%63%68', '/1.1/batch?a=1', '/1.1/batch;a'])(
    'refuses a batch within a batch as %s',
    async (path) => {
      const inner = { requests: [{ method: 'POST', path: '/1.1/users', body: { username: 'ada' } }] };
      const [answer] = (await batch({ method: 'POST', path, body: inner })) as [{ error: { code: number } }];
      expect([1, 101]).toContain(answer.error.code);
      expect(accounts.calledPatterns).toEqual([]);
    },
  );

  describe('as text/plain with _method', () => {
    const plain = { _ApplicationId: APPLICATION.id, _ApplicationKey: APPLICATION.appKey };
    const postPlain = (body: unknown) =>
      fetch(url('/1.1/batch'), {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'text/plain' },
      });

    it('runs with the credentials of its body', async () => {
      const response = await postPlain({ ...plain, requests: [{ method: 'GET', path: `/1.1/users/${ID}` }] });
      expect([response.status, await response.json()]).toEqual([200, [{ success: user }]]);
      expect(accounts.calls.at(-1)?.data).toMatchObject({ caller: { appId: APPLICATION.id, isMaster: false } });
    });

    it('holds no other batch', async () => {
      const inner = { method: 'POST', path: '/1.1/batch', body: { requests: [] } };
      expect(await (await postPlain({ ...plain, requests: [inner] })).json()).toMatchObject([{ error: { code: 1 } }]);
    });
  });

  it('drops the answers that would make it longer than other answers, and keeps those that fit', async () => {
    const long = 'x'.repeat(5 * 1_024 * 1_024);
    accounts.answer(accountsRpc.getUser, () => ({ user: { ...user, long } }));
    const get = { method: 'GET', path: `/1.1/users/${ID}` };
    const answers = await batch(get, get, get, get, { method: 'GET', path: '/1.1/ping' });
    expect(answers).toEqual([
      { success: { ...user, long } },
      { success: { ...user, long } },
      { error: { code: 116, error: expect.any(String) as string } },
      { error: { code: 116, error: expect.any(String) as string } },
      { success: { status: 'ok' } },
    ]);
  });

  it('stops where the client is gone', async () => {
    const client = new AbortController();
    accounts.answer(accountsRpc.getUser, async () => {
      if (accounts.calledPatterns.length === 2) client.abort();
      await new Promise((resolve) => setTimeout(resolve, 50));
      return { user };
    });
    const body = JSON.stringify({
      requests: Array.from({ length: 20 }, () => ({ method: 'GET', path: `/1.1/users/${ID}` })),
    });
    const headers = { ...SIGNED, 'content-type': 'application/json' };
    await expect(fetch(url('/1.1/batch'), { method: 'POST', body, headers, signal: client.signal })).rejects.toThrow();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(accounts.calledPatterns.length).toBeLessThan(5);
  });

  it('is finished while the server stops', async () => {
    const draining = await startGateway(accounts, [], { bodyLimitBytes: 1_048_576 });
    let isStopping: Promise<void> | undefined;
    accounts.answer(accountsRpc.getUser, async () => {
      isStopping ??= draining.stop();
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { user };
    });
    const get = { method: 'GET', path: `/1.1/users/${ID}` };
    const response = await fetch(`http://127.0.0.1:${draining.port}/1.1/batch`, {
      method: 'POST',
      body: JSON.stringify({ requests: [get, get, get, get] }),
      headers: { ...SIGNED, 'content-type': 'application/json' },
    });
    expect(await response.json()).toEqual(Array.from({ length: 4 }, () => ({ success: user })));
    await isStopping;
    await eventually(() => expect(fetch(`http://127.0.0.1:${draining.port}/healthz`)).rejects.toThrow());
  });
});

/** A call other than the look-up of the application, without the id of its request. */
function withoutRequestId({ pattern, data }: FakeTransport['calls'][number]): unknown[] {
  if (pattern === 'accounts.findApplication') return [];
  return [{ pattern, data: { ...data, caller: { ...(data['caller'] as object), requestId: 'any' } } }];
}

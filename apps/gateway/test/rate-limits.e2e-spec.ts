import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunningService } from '#bootstrap';
import { accountsRpc, phoneNumbersRpc } from '#contracts';
import type { FakeTransport } from '#testing';
import { LimitedClientsController, type RateLimits } from '../src/rate-limits/request-limits.js';
import { APPLICATION, fakeServices, startGateway } from './start-gateway.js';

const OFF: RateLimits = { requests: undefined, logins: undefined, signUps: undefined, messages: undefined };
const MINUTE = 60;
const ID = 'a'.repeat(24);
const user = { objectId: ID, createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' };
const OTHER = { ...APPLICATION, id: 'other-application' };
const SIGNED = { 'x-lc-id': APPLICATION.id, 'x-lc-key': APPLICATION.appKey };
const MASTER = { ...SIGNED, 'x-lc-key': `${APPLICATION.masterKey},master` };
const TOO_MANY = { code: 429, error: 'Too many requests.' };
const CHANGE = { method: 'PUT', path: `/1.1/users/${ID}`, body: { level: 1, email: 'ada@example.com' } };
const LOGIN = { method: 'POST', path: '/1.1/login', body: { username: 'ada', password: 'secret' } };

interface Sent {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

describe('limits of requests', () => {
  let accounts: FakeTransport;
  let service: RunningService;
  const start = async (limits: Partial<RateLimits>, trustedProxies: string[] = []) => {
    service = await startGateway(accounts, [], { rateLimits: { ...OFF, ...limits }, trustedProxies });
  };
  const send = (path: string, { method = 'GET', body, headers }: Sent = {}) =>
    fetch(`http://127.0.0.1:${service.port}${path}`, {
      method,
      headers: { ...SIGNED, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const logIn = async (headers: Record<string, string> = {}) =>
    (await send('/1.1/login', { ...LOGIN, headers })).status;
  const override = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${service.port}${path}`, {
      method: 'POST',
      body: JSON.stringify({ _ApplicationId: APPLICATION.id, _ApplicationKey: APPLICATION.appKey, ...body }),
      headers: { 'content-type': 'text/plain', ...headers },
    });
  const from = (forwarded: string) => ({ 'x-forwarded-for': forwarded });
  const times = async <T>(count: number, act: () => Promise<T>): Promise<T[]> => {
    const outcomes: T[] = [];
    for (let done = 0; done < count; done += 1) outcomes.push(await act());
    return outcomes;
  };

  beforeEach(() => {
    accounts = fakeServices();
    accounts.answer(accountsRpc.logIn, () => ({ user }));
    accounts.answer(accountsRpc.signUp, () => ({ user, isNew: true }));
    accounts.answer(accountsRpc.getUser, () => ({ user }));
    accounts.answer(phoneNumbersRpc.signUpOrLogIn, () => ({ user, isNew: true }));
    accounts.answer(accountsRpc.updatePassword, () => ({ result: {} }));
    accounts.answer(accountsRpc.updateUser, () => ({ result: {} }));
    accounts.answer(accountsRpc.findApplication, ({ appId }) => ({
      application: [APPLICATION, OTHER].find(({ id }) => id === appId) ?? null,
    }));
  });
  afterEach(() => service.stop());

  it('answers 429 to requests over the limit, and reports the limit and its reset', async () => {
    await start({ logins: { count: 2, windowSeconds: MINUTE } });
    const answers = await times(3, () => send('/1.1/login', LOGIN));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    const reported = answers.map(({ headers }) =>
      ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after'].map((name) => headers.get(name)),
    );
    expect(reported).toEqual([
      ['2', '1', '60', null],
      ['2', '0', expect.stringMatching(/^(?:59|60)$/), null],
      ['2', '0', expect.stringMatching(/^(?:59|60)$/), expect.stringMatching(/^(?:59|60)$/)],
    ]);
    expect(await answers[2]?.json()).toEqual(TOO_MANY);
    expect(accounts.calledPatterns).toHaveLength(2);
  });

  it('accepts requests again in the next window', async () => {
    await start({ logins: { count: 1, windowSeconds: 1 } });
    expect(await times(2, () => logIn())).toEqual([200, 429]);
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    expect(await times(2, () => logIn())).toEqual([200, 429]);
  });

  it('accepts exactly the number of parallel requests that it reports', async () => {
    await start({ logins: { count: 10, windowSeconds: MINUTE } });
    const statuses = await Promise.all(Array.from({ length: 50 }, () => logIn()));
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(accounts.calledPatterns).toHaveLength(10);
  });

  it('counts after the credentials and before the body', async () => {
    await start({ logins: { count: 1, windowSeconds: MINUTE } });
    const wrong = { 'x-lc-key': 'wrong' };
    expect(await times(3, () => logIn(wrong))).toEqual([401, 401, 401]);
    expect(await logIn()).toBe(200);
    expect((await send('/1.1/login', { method: 'POST', body: 'x'.repeat(100_000) })).status).toBe(429);
    expect(await logIn(wrong)).toBe(401);
  });

  it('sends no headers and rejects nothing where no limit is set', async () => {
    await start({});
    const response = await send('/1.1/login', LOGIN);
    expect([response.status, response.headers.get('ratelimit-limit')]).toEqual([200, null]);
  });

  it('leaves out what needs no credentials, and the master key', async () => {
    await start({ requests: { count: 1, windowSeconds: MINUTE }, logins: { count: 1, windowSeconds: MINUTE } });
    expect(await times(3, async () => (await send('/1.1/ping')).status)).toEqual([200, 200, 200]);
    expect(await times(3, () => logIn(MASTER))).toEqual([200, 200, 200]);
    expect(await times(2, () => logIn())).toEqual([200, 429]);
  });

  it('counts every application for itself', async () => {
    await start({ logins: { count: 1, windowSeconds: MINUTE } });
    expect(await times(2, () => logIn())).toEqual([200, 429]);
    expect(await times(2, () => logIn({ 'x-lc-id': OTHER.id }))).toEqual([200, 429]);
  });

  it('counts groups apart, and all of them in requests', async () => {
    await start({ requests: { count: 4, windowSeconds: MINUTE }, logins: { count: 1, windowSeconds: MINUTE } });
    expect(await times(2, () => logIn())).toEqual([200, 429]);
    const statuses = await times(3, async () => (await send(`/1.1/users/${ID}`)).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('reports the group with the fewest requests left', async () => {
    await start({ requests: { count: 9, windowSeconds: MINUTE }, logins: { count: 5, windowSeconds: 30 } });
    const limitOf = async (path: string, sent: Sent) => (await send(path, sent)).headers.get('ratelimit-limit');
    expect(await limitOf('/1.1/login', LOGIN)).toBe('5');
    expect(await limitOf(`/1.1/users/${ID}`, {})).toBe('9');
  });

  const limited: [string, keyof RateLimits, string, Sent][] = [
    ['a login', 'logins', '/1.1/login', LOGIN],
    ['a change of a password', 'logins', `/1.1/users/${ID}/updatePassword`, { method: 'PUT', body: {} }],
    ['the same by its alias', 'logins', `/1.1/classes/_User/${ID}/updatePassword`, { method: 'PUT', body: {} }],
    ['a sign-up', 'signUps', '/1.1/users', { method: 'POST', body: {} }],
    ['the same by its alias', 'signUps', '/1.1/classes/_User', { method: 'POST', body: {} }],
    ['a user by phone number', 'signUps', '/1.1/usersByMobilePhone', { method: 'POST', body: {} }],
    ['the same as a login', 'logins', '/1.1/usersByMobilePhone', { method: 'POST', body: {} }],
    ['a change of an e-mail address', 'messages', CHANGE.path, CHANGE],
    ['the same by its alias', 'messages', `/1.1/classes/_User/${ID}`, CHANGE],
    ['a change of accounts on platforms', 'logins', CHANGE.path, { ...CHANGE, body: { authData: { weixin: null } } }],
    ['the same by a path', 'logins', CHANGE.path, { ...CHANGE, body: { 'authData.weixin': null } }],
    ['a path that is not there', 'requests', '/1.1/nothing', {}],
    ['any other', 'requests', `/1.1/users/${ID}`, {}],
  ];
  it.each(limited)('counts %s (%s)', async (_, group, path, sent) => {
    await start({ [group]: { count: 1, windowSeconds: MINUTE } });
    const [first, second] = await times(2, () => send(path, sent));
    expect(first?.status).not.toBe(429);
    expect(second?.status).toBe(429);
    expect(first?.headers.get('ratelimit-remaining')).toBe('0');
  });

  describe('of messages, for changes of users', () => {
    const change = async (body: object, headers: Record<string, string> = {}) =>
      (await send(CHANGE.path, { ...CHANGE, body, headers })).status;

    it('count only those that set an e-mail address', async () => {
      await start({ messages: { count: 1, windowSeconds: MINUTE } });
      for (const body of [{}, { level: 1 }, { email: null }, { email: '' }, { email: { __op: 'Delete' } }])
        expect([body, await times(2, () => change(body))]).toEqual([body, [200, 200]]);
      expect(await times(2, () => change(CHANGE.body, MASTER))).toEqual([200, 200]);
      expect(await times(2, async () => (await send('/1.1/users', { ...CHANGE, method: 'POST' })).status)).toEqual([
        201, 201,
      ]);
      expect(await times(2, () => change(CHANGE.body))).toEqual([200, 429]);
      expect(await change({ level: 1 })).toBe(200);
      expect((await send('/1.1/requestEmailVerify', { method: 'POST', body: {} })).status).toBe(429);
    });

    it('change nothing beyond it, and report it', async () => {
      await start({ requests: { count: 9, windowSeconds: MINUTE }, messages: { count: 2, windowSeconds: 30 } });
      const answers = await times(3, () => send(CHANGE.path, CHANGE));
      expect(answers.map(({ status, headers }) => [status, headers.get('ratelimit-limit')])).toEqual([
        [200, '2'],
        [200, '2'],
        [429, '2'],
      ]);
      expect(await answers[2]?.json()).toEqual(TOO_MANY);
      expect(answers[2]?.headers.get('retry-after')).toMatch(/^(?:29|30)$/);
      expect(accounts.calledPatterns).toEqual(['accounts.updateUser', 'accounts.updateUser']);
    });

    it('report the limit of all requests where less of it is left', async () => {
      await start({ requests: { count: 2, windowSeconds: MINUTE }, messages: { count: 9, windowSeconds: 30 } });
      const { headers } = await send(CHANGE.path, CHANGE);
      expect([headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')]).toEqual(['2', '1']);
    });

    it('count them in a batch, and by an overridden method', async () => {
      await start({ messages: { count: 2, windowSeconds: MINUTE } });
      const requests = Array.from({ length: 3 }, () => CHANGE);
      const answer = await send('/1.1/batch', { method: 'POST', body: { requests } });
      expect(await answer.json()).toEqual([{ success: {} }, { success: {} }, { error: TOO_MANY }]);
      expect((await override(CHANGE.path, { ...CHANGE.body, _method: 'PUT' })).status).toBe(429);
    });
  });

  describe('cannot be gone round', () => {
    it('by escapes in the URL', async () => {
      await start({ logins: { count: 1, windowSeconds: MINUTE } });
      expect(await logIn()).toBe(200);
      const paths = ['/1.1/l%6fgin', '/1.1/%6C%6F%67%69%6E', '/1.1/login?a=1', '/%31.1/login'];
      expect(await Promise.all(paths.map(async (path) => (await send(path, LOGIN)).status))).toEqual(
        paths.map(() => 429),
      );
    });

    it('by an overridden method, which counts as the one request that it stands for', async () => {
      await start({ requests: { count: 4, windowSeconds: MINUTE }, logins: { count: 1, windowSeconds: MINUTE } });
      const statuses = [
        await override(LOGIN.path, {}),
        await override(LOGIN.path, {}),
        await override(LOGIN.path, {}, SIGNED),
        await send(`/1.1/users/${ID}`),
        await send(`/1.1/users/${ID}`),
      ].map(({ status }) => status);
      expect(statuses).toEqual([200, 429, 429, 200, 429]);
    });

    it('by a batch, in which each request counts, and which counts as one besides', async () => {
      await start({ requests: { count: 8, windowSeconds: MINUTE }, logins: { count: 3, windowSeconds: MINUTE } });
      const batch = (requests: unknown[]) => send('/1.1/batch', { method: 'POST', body: { requests } });
      const answer = await batch(Array.from({ length: 5 }, () => LOGIN));
      expect([answer.status, await answer.json()]).toEqual([
        200,
        [...Array.from({ length: 3 }, () => ({ success: user })), { error: TOO_MANY }, { error: TOO_MANY }],
      ]);
      expect(await logIn()).toBe(429);
      const get = { method: 'GET', path: `/1.1/users/${ID}` };
      expect(await (await batch([])).json()).toEqual([]);
      expect([(await batch([get])).status, (await send(get.path)).status]).toEqual([429, 429]);
      expect(accounts.calledPatterns).toHaveLength(3);
    });
  });

  describe('know the client behind', () => {
    const twice = async (...forwarded: string[]) =>
      times(2, async () => (await Promise.all(forwarded.map((each) => logIn(from(each))))).join());

    it('no proxy unless it is configured', async () => {
      await start({ logins: { count: 1, windowSeconds: MINUTE } });
      expect(await logIn(from('203.0.113.1'))).toBe(200);
      expect(await logIn(from('203.0.113.2'))).toBe(429);
      expect(await logIn({ 'x-real-ip': '203.0.113.3', forwarded: 'for=203.0.113.3' })).toBe(429);
    });

    it('a proxy of another address neither', async () => {
      await start({ logins: { count: 1, windowSeconds: MINUTE } }, ['10.0.0.0/8', '127.0.0.2']);
      expect(await logIn(from('203.0.113.1'))).toBe(200);
      expect(await logIn(from('203.0.113.2'))).toBe(429);
    });

    it('a trusted proxy', async () => {
      await start({ logins: { count: 1, windowSeconds: MINUTE } }, ['loopback']);
      expect(await twice('203.0.113.1', '203.0.113.2', '203.0.113.3')).toEqual(['200,200,200', '429,429,429']);
    });

    it('a trusted proxy, whatever the client itself had written before', async () => {
      await start({ logins: { count: 1, windowSeconds: MINUTE } }, ['127.0.0.1', '10.0.0.0/8']);
      expect(await logIn(from('198.51.100.1, 203.0.113.1'))).toBe(200);
      expect(await logIn(from('198.51.100.2, 203.0.113.1'))).toBe(429);
      expect(await logIn(from('127.0.0.1, 10.0.0.1, 203.0.113.1, 10.0.0.2'))).toBe(429);
      expect(await logIn(from('203.0.113.1, 198.51.100.3'))).toBe(200);
    });

    it('a trusted proxy, where it names no address: then it is the client', async () => {
      await start({ logins: { count: 1, windowSeconds: MINUTE } }, ['loopback']);
      expect(await logIn(from('unknown'))).toBe(200);
      expect(await logIn(from('"; drop table'))).toBe(429);
      expect(await logIn(from('203.0.113.1, fe80::1%a-b'))).toBe(429);
      expect(await logIn()).toBe(429);
    });

    it('one IPv6 network, and one IPv4 address in each of its forms', async () => {
      await start({ logins: { count: 1, windowSeconds: MINUTE } }, ['loopback']);
      expect(await logIn(from('2001:db8:1:2::1'))).toBe(200);
      expect(await logIn(from('2001:db8:1:2:ffff::2'))).toBe(429);
      expect(await logIn(from('2001:db8:1:3::1'))).toBe(200);
      expect(await logIn(from('203.0.113.1'))).toBe(200);
      expect(await logIn(from('::ffff:203.0.113.1'))).toBe(429);
    });

    it('requests that were sent on: overridden ones, and those of batches', async () => {
      await start({ logins: { count: 1, windowSeconds: MINUTE } }, ['loopback', '203.0.113.0/24']);
      const batch = async (forwarded: string) =>
        (await send('/1.1/batch', { method: 'POST', body: { requests: [LOGIN] }, headers: from(forwarded) })).json();
      expect(await batch('192.0.2.1, 198.51.100.1')).toEqual([{ success: user }]);
      expect(await batch('192.0.2.2, 198.51.100.1, 203.0.113.1')).toEqual([{ error: TOO_MANY }]);
      const overridden = await override(LOGIN.path, LOGIN.body, from('192.0.2.3, 198.51.100.1'));
      expect(overridden.status).toBe(429);
      expect(await batch('198.51.100.1, 192.0.2.2')).toEqual([{ success: user }]);
    });
  });

  it('show operators the refused clients of the application, until the window ends', async () => {
    await start({ logins: { count: 1, windowSeconds: 1 }, requests: { count: 3, windowSeconds: MINUTE } }, [
      'loopback',
    ]);
    const listed = async (appId: string, limit = 10) =>
      (await service.app.get(LimitedClientsController).list({ appId, limit })).clients;
    await times(2, () => logIn(from('203.0.113.1')));
    await logIn(from('203.0.113.2'));
    await times(5, () => send('/1.1/users/me', { headers: from('2001:db8:1:2::1') }));
    await times(4, () => send('/1.1/users/me', { headers: { ...from('203.0.113.3'), 'x-lc-id': OTHER.id } }));
    const inWindow = expect.stringMatching(/^\d{4}-.*Z$/) as string;
    const slow = { group: 'requests', network: '2001:db8:1:2::/64', count: 5, until: inWindow };
    const quick = { group: 'logins', network: '203.0.113.1', count: 2, until: inWindow };
    expect(await listed(APPLICATION.id)).toEqual([slow, quick]);
    expect(await listed(APPLICATION.id, 1)).toEqual([slow]);
    expect(await listed(OTHER.id)).toMatchObject([{ network: '203.0.113.3', count: 4 }]);
    expect(await listed('unknown')).toEqual([]);
    await expect.poll(() => listed(APPLICATION.id)).toEqual([slow]);
  });

  it('are counted by group in the metrics, and without addresses', async () => {
    await start({ logins: { count: 1, windowSeconds: MINUTE } });
    await times(3, () => logIn());
    const metrics = await (await send('/metrics')).text();
    expect(metrics).toMatch(/^gatepost_rate_limited_total\{group="logins"\} 2$/m);
    expect(metrics).not.toMatch(/127\.0\.0\.1|fake-application/);
  });
});

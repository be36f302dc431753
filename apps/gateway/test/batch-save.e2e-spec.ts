import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunningService } from '#bootstrap';
import { objectsRpc } from '#contracts';
import { appError, type ErrorName, ERRORS } from '#errors';
import type { FakeTransport } from '#testing';
import type { RateLimits } from '../src/rate-limits/request-limits.js';
import { APPLICATION, fakeServices, startGateway } from './start-gateway.js';

const ID = 'a'.repeat(24);
const SIGNED = { 'x-lc-id': APPLICATION.id, 'x-lc-key': APPLICATION.appKey, 'x-lc-session': 'token' };
const NO_LIMITS: RateLimits = { requests: undefined, logins: undefined, signUps: undefined, messages: undefined };
const signUp = (internalId: string) => ({
  method: 'POST',
  path: '/1.1/users',
  new: true,
  body: { __internalId: internalId, username: internalId, password: 'secret' },
});
const change = { method: 'PUT', path: `/1.1/users/${ID}`, body: { __internalId: ID, level: 1 } };

describe('POST /1.1/batch/save', () => {
  let accounts: FakeTransport;
  let service: RunningService;
  const start = async (rateLimits: Partial<RateLimits> = {}) => {
    service = await startGateway(accounts, [], {
      bodyLimitBytes: 1_048_576,
      rateLimits: { ...NO_LIMITS, ...rateLimits },
    });
  };
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`http://127.0.0.1:${service.port}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { ...SIGNED, 'content-type': 'application/json', ...headers },
    });
    return { status: response.status, body: await response.json() };
  };
  const save = (...requests: unknown[]) => post('/1.1/batch/save', { requests });

  beforeEach(() => {
    accounts = fakeServices();
    accounts.answer(objectsRpc.saveAll, ({ writes }) => ({
      results: writes.map(({ internalId }) => ({ internalId, result: { level: 1 } })),
    }));
  });
  afterEach(() => service.stop());

  it('calls accounts once, and returns the results by internal id', async () => {
    await start();
    const friend = { className: '_User', cid: 'two', key: 'friend' };
    const one = { ...signUp('one'), body: { ...signUp('one').body, __children: [friend] } };
    expect(await save(one, signUp('two'), change)).toEqual({
      status: 200,
      body: { one: { level: 1 }, two: { level: 1 }, [ID]: { level: 1 } },
    });
    expect(accounts.calledPatterns).toEqual(['accounts.saveAll']);
    const written = { className: '_User', returnNew: true, children: [] };
    expect(accounts.calls.at(-1)?.data).toMatchObject({
      caller: { appId: APPLICATION.id, isMaster: false, sessionToken: 'token' },
      writes: [
        { ...written, internalId: 'one', fields: { username: 'one', password: 'secret' }, children: [friend] },
        { ...written, internalId: 'two', fields: { username: 'two', password: 'secret' } },
        { ...written, internalId: ID, objectId: ID, fields: { level: 1 }, returnNew: false },
      ],
    });
  });

  it('calls no service for an empty or invalid list', async () => {
    await start();
    expect(await save()).toEqual({ status: 200, body: {} });
    expect(await save(change, null)).toMatchObject({ status: 400, body: { code: 107 } });
    expect(await save(change, { ...change, path: '/1.1/files/1' })).toMatchObject({
      status: 404,
      body: { code: 101 },
    });
    expect(await post('/1.1/batch/save', { requests: [change] }, { 'x-lc-key': 'wrong' })).toMatchObject({
      status: 401,
    });
    expect(accounts.calledPatterns).toEqual([]);
  });

  it.each(['SESSION_REQUIRED', 'USERNAME_TAKEN', 'NO_EFFECT', 'SERVICE_UNAVAILABLE'] as const satisfies ErrorName[])(
    'answers %s of accounts as a whole',
    async (name) => {
      await start();
      accounts.fail(objectsRpc.saveAll, appError(name));
      const { status, code, message } = ERRORS[name];
      expect(await save(change)).toEqual({ status, body: { code, error: message } });
    },
  );

  it.each(['/1.1/batch/save', '/1.1/batch/s%61ve', '/1.1/b%61tch/save?a=1'])(
    'is no part of a batch, as %s',
    async (path) => {
      await start();
      const batch = await post('/1.1/batch', { requests: [{ method: 'POST', path, body: { requests: [change] } }] });
      expect(batch).toMatchObject({ status: 200, body: [{ error: { code: 1 } }] });
      expect(accounts.calledPatterns).toEqual([]);
    },
  );

  it('counts each sign-up, and saves nothing where there are too many', async () => {
    await start({ signUps: { count: 3, windowSeconds: 60 } });
    expect((await save(signUp('one'), change, signUp('two'))).status).toBe(200);
    expect(await save(signUp('three'), signUp('four'))).toMatchObject({ status: 429, body: { code: 429 } });
    expect((await save(change)).status).toBe(200);
    expect((await post('/1.1/users', {})).status).toBe(429);
    expect(accounts.calledPatterns).toEqual(['accounts.saveAll', 'accounts.saveAll']);
  });

  it('counts each change of an e-mail address as a message, and saves nothing where there are too many', async () => {
    await start({ messages: { count: 2, windowSeconds: 60 } });
    const mailed = (email: unknown) => ({ ...change, body: { ...change.body, email } });
    const signedUp = { ...signUp('one'), body: { ...signUp('one').body, email: 'ada@example.com' } };
    expect((await save(signedUp, change, mailed(null), mailed(''), mailed('a@example.com'))).status).toBe(200);
    expect(await save(mailed('b@example.com'), mailed('c@example.com'))).toMatchObject({
      status: 429,
      body: { code: 429 },
    });
    expect((await save(change)).status).toBe(200);
    expect(accounts.calledPatterns).toEqual(['accounts.saveAll', 'accounts.saveAll']);
  });

  it('counts each write, and itself, as a request', async () => {
    await start({ requests: { count: 5, windowSeconds: 60 } });
    expect((await save(change, change)).status).toBe(200);
    expect((await save(change, change)).status).toBe(429);
  });
});

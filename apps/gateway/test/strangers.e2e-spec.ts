import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunningService } from '#bootstrap';
import { accountsRpc, broadcastContracts } from '#contracts';
import { type FakeTransport, unique } from '#testing';
import { APPLICATION, fakeServices, startGateway } from './start-gateway.js';

const LIMIT = 5;
const ID = 'a'.repeat(24);
const user = { objectId: ID, createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' };
const SIGNED = { 'x-lc-id': APPLICATION.id, 'x-lc-key': APPLICATION.appKey };
const OTHER = { ...APPLICATION, id: 'other-application' };
const TOO_MANY = {
  code: 429,
  error: 'Too many requests with a wrong application id or key came from this network. Check both, or wait.',
};

describe('requests with a wrong application id or key', () => {
  let accounts: FakeTransport;
  let gateway: RunningService;

  const start = async (windowSeconds = 60) => {
    gateway = await startGateway(accounts, [], {
      failedCredentials: { count: LIMIT, windowSeconds },
      trustedProxies: ['loopback'],
      pushUrls: { server: 'wss://push.example.com/push', secondary: 'wss://push.example.com/push' },
    });
  };
  const send = async (path: string, headers: Record<string, string>, address = '203.0.113.1') => {
    const url = `http://127.0.0.1:${gateway.port}${path}`;
    const response = await fetch(url, { headers: { 'x-forwarded-for': address, ...headers } });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  const statusOf = async (headers: Record<string, string>, address?: string) =>
    (await send(`/1.1/users/${ID}`, headers, address)).status;
  const strangerId = () => ({ 'x-lc-id': unique('stranger'), 'x-lc-key': 'any' });
  const use = async (count: number, act: () => Promise<unknown>) => {
    for (let done = 0; done < count; done += 1) await act();
  };
  const lookUps = () => accounts.requestsOf(accountsRpc.findApplication).length;
  const lists = () => accounts.requestsOf(accountsRpc.listApplicationIds).length;

  beforeEach(() => {
    accounts = fakeServices();
    accounts.answer(accountsRpc.getUser, () => ({ user }));
  });
  afterEach(() => gateway.stop());

  it('are refused over the limit without a look-up, and say when to come back', async () => {
    await start();
    for (let count = 0; count < LIMIT; count += 1) expect(await statusOf(strangerId())).toBe(401);
    expect(lookUps()).toBe(LIMIT);
    const { status, body, headers } = await send('/1.1/users', strangerId());
    expect([status, body]).toEqual([429, TOO_MANY]);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(50);
    await Promise.all(Array.from({ length: 100 }, () => send('/1.1/users', strangerId())));
    expect([lookUps(), lists()]).toEqual([LIMIT, 1]);
    const metrics = await (await fetch(`http://127.0.0.1:${gateway.port}/metrics`)).text();
    expect(metrics).toMatch(/^gatepost_rate_limited_total\{group="failedCredentials"\} 101$/m);
  });

  it('count where devices ask for their address', async () => {
    await start();
    for (let count = 0; count < LIMIT; count += 1)
      expect((await send(`/v1/route?appId=${unique('stranger')}`, {})).status).toBe(404);
    const { status, body } = await send(`/v1/route?appId=${unique('stranger')}`, {});
    expect([status, body]).toEqual([429, TOO_MANY]);
    expect([await statusOf(strangerId()), lookUps()]).toEqual([429, LIMIT]);
  });

  it('count however the key is shown', async () => {
    await start();
    // The first request that names an application counts as well, before it is known to exist.
    expect(await statusOf(SIGNED)).toBe(200);
    const digest = createHash('md5').update('1wrong').digest('hex');
    const wrong: Record<string, string>[] = [
      { 'x-lc-key': 'wrong' },
      { 'x-lc-key': 'wrong,master' },
      { 'x-lc-sign': `${digest},1` },
      { 'x-avoscloud-master-key': 'wrong' },
    ];
    for (const headers of wrong) expect(await statusOf({ 'x-lc-id': APPLICATION.id, ...headers })).toBe(401);
    for (const headers of wrong) expect(await statusOf({ 'x-lc-id': APPLICATION.id, ...headers })).toBe(429);
    expect(await statusOf(SIGNED)).toBe(200);
    expect(accounts.calledPatterns).toEqual(['accounts.getUser', 'accounts.getUser']);
  });

  it('let other clients of the same address use an application that this process has met', async () => {
    await start();
    expect(await statusOf(SIGNED)).toBe(200);
    await use(LIMIT + 10, () => send('/1.1/users', strangerId()));
    expect(await statusOf(SIGNED)).toBe(200);
    expect((await send(`/v1/route?appId=${APPLICATION.id}`, {})).status).toBe(200);
    expect(lists()).toBe(1);
  });

  it('let them use one that it has not met, too, however often strangers ask', async () => {
    await start();
    await use(LIMIT + 10, () => send('/1.1/users', strangerId()));
    expect(await statusOf(SIGNED)).toBe(200);
    expect(lists()).toBe(1);
  });

  it('let them use an application that is new, once it is announced', async () => {
    await start();
    await use(LIMIT + 10, () => send('/1.1/users', strangerId()));
    expect(await statusOf({ ...SIGNED, 'x-lc-id': OTHER.id })).toBe(429);
    accounts.answer(accountsRpc.findApplication, ({ appId }) => ({ application: appId === OTHER.id ? OTHER : null }));
    accounts.broadcast(broadcastContracts.applicationChanged.pattern, JSON.stringify({ appId: OTHER.id }));
    await expect.poll(() => statusOf({ ...SIGNED, 'x-lc-id': OTHER.id })).toBe(200);
  });

  it('count by network: an IPv6 network of 64 bits is one, and other networks are let alone', async () => {
    await start();
    await use(LIMIT, () => statusOf(strangerId(), '2001:db8:1:2::1'));
    expect(await statusOf(strangerId(), '2001:db8:1:2:ffff::2')).toBe(429);
    expect(await statusOf(strangerId(), '2001:db8:1:3::1')).toBe(401);
  });

  it('are bounded for all networks together, too', async () => {
    await start();
    for (let network = 0; network < 10 * LIMIT; network += 1)
      expect(await statusOf(strangerId(), `2001:db8:2:${network}::1`)).toBe(401);
    expect(await statusOf(strangerId(), '2001:db8:3::1')).toBe(429);
    expect(await statusOf(SIGNED, '2001:db8:3::1')).toBe(200);
    // A known application with a wrong key gets 401, not 429: its id costs no look-up.
    expect(await statusOf({ ...SIGNED, 'x-lc-key': 'wrong' }, '2001:db8:4::1')).toBe(401);
  });

  it('are counted anew after the time of the limit', async () => {
    await start(1);
    await use(LIMIT, () => statusOf(strangerId()));
    expect(await statusOf(strangerId())).toBe(429);
    await expect.poll(() => statusOf(strangerId()), { timeout: 5_000 }).toBe(401);
  });

  it('cost one look-up in ten seconds for an id that comes again, unless an application of that id was made', async () => {
    await start();
    const headers = { ...SIGNED, 'x-lc-id': OTHER.id };
    await use(3, () => statusOf(headers, '203.0.113.2'));
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await statusOf(headers, '203.0.113.3')).toBe(401);
    expect(lookUps()).toBe(1);
    accounts.answer(accountsRpc.findApplication, () => ({ application: OTHER }));
    accounts.broadcast(broadcastContracts.applicationChanged.pattern, JSON.stringify({ appId: OTHER.id }));
    await expect.poll(() => statusOf(headers, '203.0.113.3')).toBe(200);
  });

  it('are refused as well where accounts lists no applications; those that were met are served', async () => {
    await start();
    expect(await statusOf(SIGNED)).toBe(200);
    accounts.fail(accountsRpc.listApplicationIds, new Error('away'));
    await use(LIMIT, () => send('/1.1/users', strangerId()));
    expect(await statusOf(strangerId())).toBe(429);
    expect(await statusOf(SIGNED)).toBe(200);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { consoleApi } from '#console-api';
import { deliveriesRpc, gatewayRpc, identitiesRpc, pushOperationsRpc, pushRpc, userSearchRpc } from '#contracts';
import { appError } from '#errors';
import { PASSWORD, TestConsole, type Visitor } from './console-service.js';

const params = { appId: 'shop' };
const at = '2026-01-02T03:04:05.678Z';
const exactly = (value: number) => ({ value, isExact: true });
const platforms = [
  { platform: 'weixin', verified: 5, unverified: 0 },
  { platform: 'other', verified: 1, unverified: 4 },
];

let console: TestConsole;
let owner: Visitor;

beforeAll(async () => {
  console = await TestConsole.start();
  owner = await console.owner();
});
afterAll(() => console.stop());
beforeEach(() => {
  const { transport } = console;
  transport.calls.length = 0;
  console.forgetAnswers();
  const counts = { createdLastDay: exactly(2), createdLastWeek: exactly(3), locked: exactly(1) };
  transport.answer(userSearchRpc.count, () => ({ total: { value: 20_000, isExact: false }, ...counts }));
  transport.answer(identitiesRpc.count, () => ({ platforms }));
  transport.answer(pushOperationsRpc.countDevices, () => ({
    platforms: { ios: { installations: 7, targeted: 6 } },
    connected: 4,
  }));
  const byStatus = { sent: 9, queued: 1, dead: 2 };
  transport.answer(deliveriesRpc.list, () => ({
    deliveries: [],
    next: null,
    counts: { byStatus, isExact: true },
  }));
  transport.answer(pushRpc.findNotifications, ({ count }) => {
    const one = { objectId: 'p1', status: 'in-queue', createdAt: at, msg: { alert: 'hello' } };
    return count ? { results: [], count: 3 } : { results: [one] };
  });
});

it('shows the figures of the services', async () => {
  const { body } = await owner.call(consoleApi.getOverview, { params });
  expect(body).toEqual({
    users: { total: { value: 20_000, isExact: false }, lastDay: exactly(2), locked: exactly(1) },
    devices: { connected: 4, platforms: { ios: 7 } },
    messages: { sent: exactly(9), dead: exactly(2) },
    pushes: { underWay: [{ objectId: 'p1', createdAt: at, title: 'hello' }], scheduled: 3 },
    unverifiedPlatforms: [{ platform: 'other', accounts: 4 }],
    unavailable: [],
  });
  const [messages] = console.transport.requestsOf(deliveriesRpc.list);
  expect(messages).toMatchObject({ ...params, counts: true });
  expect(Math.abs(Date.now() - 86_400_000 - Date.parse(messages?.from ?? ''))).toBeLessThan(60_000);
  const pushes = console.transport.requestsOf(pushRpc.findNotifications);
  expect(pushes.map(({ where, limit, count }) => ({ where, limit, count }))).toEqual([
    { where: { status: 'in-queue' }, limit: 5, count: false },
    { where: { status: 'scheduled' }, limit: 0, count: true },
  ]);
});

it.each([
  ['accounts', userSearchRpc.count, { users: null }],
  ['accounts', identitiesRpc.count, { unverifiedPlatforms: [] }],
  ['mail', deliveriesRpc.list, { messages: null }],
  ['push-delivery', pushOperationsRpc.countDevices, { devices: null }],
  ['push-delivery', pushRpc.findNotifications, { pushes: null }],
] as const)(
  'names %s as unavailable where one of its figures is missing, and shows the others',
  async (service, rpc, missing) => {
    const { body: all } = await owner.call(consoleApi.getOverview, { params });
    for (const error of ['SERVICE_UNAVAILABLE', 'QUERY_TIMED_OUT'] as const) {
      console.transport.fail(rpc, appError(error));
      console.forgetAnswers();
      const { body } = await owner.call(consoleApi.getOverview, { params });
      expect(body).toEqual({ ...all, ...missing, unavailable: [service] });
    }
  },
);

describe('an answer that all operators share', () => {
  const calls = () => console.transport.requestsOf(userSearchRpc.count).length;
  const ask = (visitor: Visitor) => visitor.call(consoleApi.getOverview, { params });

  it('costs 50 viewers one call of each RPC a second', async () => {
    const viewers = await Promise.all(Array.from({ length: 5 }, () => console.withRole(owner, 'viewer', 'shop')));
    console.forgetAnswers();
    console.transport.calls.length = 0;
    const begin = performance.now();
    while (performance.now() - begin < 2_500) {
      const answers = await Promise.all(
        [...viewers, owner].flatMap((visitor) => Array.from({ length: 9 }, () => ask(visitor))),
      );
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    }
    expect(calls()).toBeGreaterThan(1);
    expect(calls()).toBeLessThanOrEqual(3);
  });

  it('is given to no operator without the right', async () => {
    const stranger = await console.withRole(owner, 'viewer', 'other');
    expect((await ask(owner)).status).toBe(200);
    expect((await ask(stranger)).status).toBe(404);
    expect((await ask(console.visitor())).status).toBe(401);
  });

  it('is that of the application', async () => {
    console.transport.answer(userSearchRpc.count, ({ appId }) => ({
      ...{ total: exactly(appId.length), createdLastDay: exactly(0), createdLastWeek: exactly(0), locked: exactly(0) },
    }));
    const totals = ['shop', 'longer'].map(async (appId) => {
      const { body } = await owner.call(consoleApi.getOverview, { params: { appId } });
      return (body as { users: { total: { value: number } } }).users.total.value;
    });
    expect(await Promise.all(totals)).toEqual([4, 6]);
  });

  it('is not kept where it failed, and not after an act', async () => {
    console.transport.fail(userSearchRpc.count, appError('INTERNAL'));
    expect((await ask(owner)).status).toBe(500);
    console.transport.answer(userSearchRpc.count, () => ({
      ...{ total: exactly(1), createdLastDay: exactly(0), createdLastWeek: exactly(0), locked: exactly(0) },
    }));
    expect((await ask(owner)).status).toBe(200);
    const before = calls();
    await ask(owner);
    expect(calls()).toBe(before);
    await owner.call(consoleApi.prove, { body: { password: PASSWORD } });
    await ask(owner);
    expect(calls()).toBe(before + 1);
  });
});

it('shows each viewer the networks of limited clients as the role allows', async () => {
  const client = { group: 'logins', network: '203.0.113.7', count: 31, until: at };
  console.transport.answer(gatewayRpc.listLimitedClients, () => ({ clients: [client] }));
  const support = await console.withRole(owner, 'support', 'shop');
  const viewer = await console.withRole(owner, 'viewer', 'shop');
  const itemsOf = async (visitor: Visitor) =>
    (await visitor.call(consoleApi.listLimitedClients, { params, query: { limit: '7' } })).body;
  expect(await itemsOf(support)).toEqual({ items: [client] });
  expect(await itemsOf(viewer)).toEqual({ items: [{ ...client, network: '203.0.…' }] });
  expect(console.transport.requestsOf(gatewayRpc.listLimitedClients)[0]).toEqual({ ...params, limit: 7 });
});

it('is not found for an unknown application', async () => {
  console.transport.fail(userSearchRpc.count, appError('NOT_FOUND'));
  expect((await owner.call(consoleApi.getOverview, { params })).status).toBe(404);
});

describe('the series of the overview', () => {
  const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

  beforeEach(() => {
    const { transport } = console;
    transport.answer(userSearchRpc.countByDay, () => ({ days: [{ day: dayBefore(0), signUps: 3, logins: 12 }] }));
    transport.answer(deliveriesRpc.countByDay, () => ({ days: [{ day: dayBefore(1), sent: 5, dead: 1 }] }));
    const pushes = { day: dayBefore(1), queued: 8, acknowledged: 6 };
    transport.answer(pushOperationsRpc.countByDay, () => ({ days: [pushes] }));
    const hours = [
      { at: `${dayBefore(29)}T07:00:00.000Z`, connected: 3 },
      { at: `${dayBefore(1)}T22:00:00.000Z`, connected: 9 },
      { at: `${dayBefore(1)}T23:00:00.000Z`, connected: 0 },
    ];
    transport.answer(pushOperationsRpc.countConnectedByHour, () => ({ hours }));
  });

  it('have thirty days of UTC, seven for pushes, zeros included', async () => {
    const { body } = await owner.call(consoleApi.getSeries, { params });
    const series = consoleApi.getSeries.reply.parse(body);
    const zeros = Array.from({ length: 28 }, () => 0);
    expect(series.days).toEqual(Array.from({ length: 30 }, (_, index) => dayBefore(29 - index)));
    expect(series.users).toEqual({ signUps: [...zeros, 0, 3], logins: [...zeros, 0, 12] });
    expect(series.messages).toEqual({ sent: [...zeros, 5, 0], dead: [...zeros, 1, 0] });
    expect(series.pushes).toEqual({ queued: [0, 0, 0, 0, 0, 8, 0], acknowledged: [0, 0, 0, 0, 0, 6, 0] });
    expect(console.transport.requestsOf(userSearchRpc.countByDay)).toEqual([{ ...params, from: series.days[0] }]);
  });

  it('have the connected devices by day and by hour of a week, null where they were not counted', async () => {
    const { body } = await owner.call(consoleApi.getSeries, { params });
    const { days, connected } = consoleApi.getSeries.reply.parse(body);
    expect(connected?.byDay).toEqual(days.map((day) => ({ [dayBefore(29)]: 3, [dayBefore(1)]: 9 })[day] ?? null));
    expect(connected?.hours).toHaveLength(168);
    expect(connected?.hours.at(-1)?.slice(0, 13)).toBe(new Date().toISOString().slice(0, 13));
    const counted = connected?.hours.flatMap((hour, index) => {
      const value = connected.byHour[index];
      return value === null ? [] : [[hour, value]];
    });
    expect(counted).toEqual([
      [`${dayBefore(1)}T22:00:00.000Z`, 9],
      [`${dayBefore(1)}T23:00:00.000Z`, 0],
    ]);
    expect(console.transport.requestsOf(pushOperationsRpc.countConnectedByHour)).toEqual([
      { ...params, from: days[0] },
    ]);
  });

  it.each([
    ['users', userSearchRpc.countByDay],
    ['messages', deliveriesRpc.countByDay],
    ['pushes', pushOperationsRpc.countByDay],
    ['connected', pushOperationsRpc.countConnectedByHour],
  ] as const)('leave %s out where the service does not answer in time', async (name, rpc) => {
    const { body: all } = await owner.call(consoleApi.getSeries, { params });
    for (const error of ['SERVICE_UNAVAILABLE', 'QUERY_TIMED_OUT'] as const) {
      console.transport.fail(rpc, appError(error));
      console.forgetAnswers();
      const { body } = await owner.call(consoleApi.getSeries, { params });
      expect(body).toEqual({ ...all, [name]: null });
    }
  });
});

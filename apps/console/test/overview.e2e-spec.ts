import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { consoleApi } from '#console-api';
import { deliveriesRpc, identitiesRpc, pushOperationsRpc, pushRpc, userSearchRpc } from '#contracts';
import { appError } from '#errors';
import { TestConsole, type Visitor } from './console-service.js';

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
  const counts = { createdLastDay: exactly(2), createdLastWeek: exactly(3), locked: exactly(1) };
  transport.answer(userSearchRpc.count, () => ({ total: { value: 20_000, isExact: false }, ...counts }));
  transport.answer(identitiesRpc.count, () => ({ platforms }));
  transport.answer(pushOperationsRpc.devices, () => ({
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
    away: [],
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
  ['push-delivery', pushOperationsRpc.devices, { devices: null }],
  ['push-delivery', pushRpc.findNotifications, { pushes: null }],
] as const)(
  'names %s as away where one of its figures is missing, and shows the others',
  async (service, rpc, missing) => {
    const { body: all } = await owner.call(consoleApi.getOverview, { params });
    for (const error of ['SERVICE_UNAVAILABLE', 'QUERY_TIMED_OUT'] as const) {
      console.transport.fail(rpc, appError(error));
      const { body } = await owner.call(consoleApi.getOverview, { params });
      expect(body).toEqual({ ...all, ...missing, away: [service] });
    }
  },
);

it('is not found for an unknown application', async () => {
  console.transport.fail(userSearchRpc.count, appError('NOT_FOUND'));
  expect((await owner.call(consoleApi.getOverview, { params })).status).toBe(404);
});

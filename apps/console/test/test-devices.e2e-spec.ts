import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { consoleApi, type ConsoleRoute, MAX_TEST_DEVICES } from '#console-api';
import { installationsRpc, type JsonObject, pushOperationsRpc } from '#contracts';
import { TestConsole, type Visitor } from './console-service.js';

const APP = 'shop';
const at = '2026-01-02T03:04:05.678Z';
const SECRET = 'a-secret-of-the-device';

let console: TestConsole;
let owner: Visitor;
let support: Visitor;
/** Object ids of the installations that exist, and of those with an invalid token. */
const [existing, invalid] = [new Set<string>(), new Set<string>()];

const installation = (objectId: string): JsonObject => ({
  objectId,
  installationId: `${SECRET}-${objectId}`,
  deviceType: 'android',
  valid: !invalid.has(objectId),
  createdAt: at,
  updatedAt: at,
});

beforeAll(async () => {
  console = await TestConsole.start();
  owner = await console.owner();
  support = await console.withRole(owner, 'support', APP);
  console.transport.answer(installationsRpc.find, ({ where, limit }) => {
    const wanted = (where as { objectId: { $in: string[] } }).objectId.$in;
    const results = wanted.filter((id) => existing.has(id)).map(installation);
    return { results: results.slice(0, limit) };
  });
  console.transport.answer(pushOperationsRpc.describeDevices, ({ installationIds }) => ({
    devices: installationIds.map((installationId) => ({
      ...{ installationId, waiting: 0, dropped: 0 },
      connection: { since: at, protocol: 'json', node: 'n1' },
    })),
  }));
  console.transport.answer(pushOperationsRpc.send, () => ({ objectId: 'push1', createdAt: at }));
});
afterAll(() => console.stop());
beforeEach(async () => {
  await console.database.query('DELETE FROM console.test_devices');
  for (const ids of [existing, invalid]) ids.clear();
  for (const id of ['phone', 'tablet', 'other']) existing.add(id);
  console.transport.calls.length = 0;
});

const ask = async (
  visitor: Visitor,
  route: ConsoleRoute,
  { deviceId, appId = APP, body }: { deviceId?: string; appId?: string; body?: object } = {},
) => {
  const params = { appId, ...(deviceId === undefined ? {} : { deviceId }) };
  const answer = await visitor.call(route, { params, ...(body === undefined ? {} : { body: { body } }) });
  expect(answer.text).not.toContain(SECRET);
  return answer;
};
const mark = (visitor: Visitor, deviceId: string, appId = APP) =>
  ask(visitor, consoleApi.markTestDevice, { deviceId, appId });
const listOf = async (visitor: Visitor, appId = APP) => {
  const { items, missing } = (await ask(visitor, consoleApi.listTestDevices, { appId })).body as {
    items: { objectId: string }[];
    missing: number;
  };
  return [items.map(({ objectId }) => objectId), missing];
};
const send = (visitor: Visitor, body: object) => ask(visitor, consoleApi.sendTestPush, { body });
const sent = () => console.transport.requestsOf(pushOperationsRpc.send);
const stored = async () => {
  const rows = await console.database.query<{ deviceId: string }>(
    'SELECT device_id AS "deviceId" FROM console.test_devices ORDER BY marked_at, device_id',
  );
  return rows.map(({ deviceId }) => deviceId);
};
const lastEntryOf = async (action: string) => {
  const { body } = await owner.call(consoleApi.listAudit, { query: { action, limit: '1' } });
  return (body['items'] as object[])[0];
};

describe('a test device', () => {
  it('belongs to one operator and one application, and is shown as in the list of devices', async () => {
    expect((await mark(owner, 'phone')).status).toBe(200);
    await mark(owner, 'other', 'second');
    await mark(support, 'tablet');
    const { body } = await ask(owner, consoleApi.listTestDevices);
    const shown = { deviceType: 'android', isConnected: true, connectedSince: at, waiting: 0, isValid: true };
    expect(body).toEqual({ items: [expect.objectContaining({ objectId: 'phone', ...shown })], missing: 0 });
    expect([await listOf(owner, 'second'), await listOf(support)]).toEqual([
      [['other'], 0],
      [['tablet'], 0],
    ]);
  });

  it('is marked and unmarked, each also twice, with entries in the audit log', async () => {
    for (const route of [consoleApi.markTestDevice, consoleApi.unmarkTestDevice])
      for (const status of [200, 200]) expect((await ask(owner, route, { deviceId: 'phone' })).status).toBe(status);
    expect(await listOf(owner)).toEqual([[], 0]);
    for (const action of ['markTestDevice', 'unmarkTestDevice'])
      expect(await lastEntryOf(action)).toMatchObject({ appId: APP, target: 'phone', outcome: 'done' });
  });

  it('exists when it is marked', async () => {
    expect(await mark(owner, 'none')).toMatchObject({ status: 404, body: { name: 'NOT_FOUND' } });
    expect(await stored()).toEqual([]);
  });

  it('is one of 20 at most, also of those that are marked at once', async () => {
    const ids = Array.from({ length: MAX_TEST_DEVICES + 5 }, (_, index) => `device${index}`);
    for (const id of ids) existing.add(id);
    const answers = await Promise.all(ids.map((id) => mark(owner, id)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(MAX_TEST_DEVICES);
    const refused = answers.find(({ status }) => status !== 200);
    expect(refused).toMatchObject({ status: 400, body: { name: 'NO_EFFECT' } });
    const [marked = ''] = await stored();
    expect((await mark(owner, marked)).status).toBe(200);
    expect((await mark(support, 'phone')).status).toBe(200);
  });

  it('that was deleted is left out, and makes room for another one', async () => {
    for (const id of ['phone', 'tablet']) await mark(owner, id);
    existing.delete('phone');
    expect(await listOf(owner)).toEqual([['tablet'], 1]);
    await mark(owner, 'other');
    expect([await stored(), await listOf(owner)]).toEqual([
      ['tablet', 'other'],
      [['tablet', 'other'], 0],
    ]);
  });

  it('goes with its operator', async () => {
    await mark(support, 'phone');
    await mark(owner, 'tablet');
    await console.database.query('DELETE FROM console.operators WHERE NOT is_owner');
    expect(await stored()).toEqual(['tablet']);
    support = await console.withRole(owner, 'support', APP);
  });
});

describe('a test push', () => {
  const body = { data: { alert: 'hello' }, expiration_interval: 60, req_id: 'abc' };

  it.each(['owner', 'support'])('of %s goes to the own test devices, without a proof', async (name) => {
    const [visitor, other] = name === 'owner' ? [owner, support] : [support, owner];
    for (const id of ['phone', 'tablet']) await mark(visitor, id);
    await mark(other, 'other');
    await console.database.query(`UPDATE console.sessions SET proven_at = now() - interval '11 minutes'`);
    expect((await send(visitor, body)).body).toEqual({ objectId: 'push1', createdAt: at, devices: 2 });
    expect(sent()).toEqual([{ appId: APP, body: { ...body, where: { objectId: { $in: ['phone', 'tablet'] } } } }]);
    expect(await lastEntryOf('sendTestPush')).toMatchObject({ target: 'push1', outcome: 'done', change: { body } });
  });

  it('leaves out devices that were deleted, or have an invalid token', async () => {
    for (const id of ['phone', 'tablet', 'other']) await mark(owner, id);
    existing.delete('phone');
    invalid.add('tablet');
    expect((await send(owner, body)).body).toMatchObject({ devices: 1 });
    expect(sent()).toMatchObject([{ body: { where: { objectId: { $in: ['other'] } } } }]);
  });

  it.each([
    ['is marked', false],
    ['exists any more', true],
  ])('is refused where no device %s', async (_, isMarked) => {
    if (isMarked) await mark(owner, 'phone');
    existing.clear();
    const { status, body: answer } = await send(owner, body);
    expect([status, answer['name'], answer['error']]).toEqual([
      400,
      'NO_EFFECT',
      'You have no test device in this application. Mark one first.',
    ]);
    expect(sent()).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['where', {}],
    ['where', null],
    ['channels', ['news']],
    ['cql', 'select * from _Installation'],
    ['push_time', '2030-01-01T00:00:00.000Z'],
  ])('names no audience and no time: %s', async (member, value) => {
    await mark(owner, 'phone');
    const { status, body: answer } = await send(owner, { ...body, [member]: value });
    expect([status, answer['name'], answer['error']]).toEqual([
      400,
      'INCORRECT_TYPE',
      `${member}: a test push has none.`,
    ]);
    expect(sent()).toEqual([]);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { consoleApi, type ConsoleRoute } from '#console-api';
import { installationsRpc, type JsonObject, pushOperationsRpc, pushRpc } from '#contracts';
import { appError } from '#errors';
import { PASSWORD, TestConsole, type Visitor } from './console-service.js';

const APP = 'shop';
const params = { appId: APP };
const at = '2026-01-02T03:04:05.678Z';
const ids = ['device1', 'device2', 'device3'];
const SECRET = 'a-secret-of-the-device';

const installation = (objectId: string, more: JsonObject = {}): JsonObject => ({
  objectId,
  installationId: `${SECRET}-${objectId}`,
  deviceToken: `${SECRET}-token`,
  registrationId: `${SECRET}-registration`,
  webPush: { endpoint: `https://push.example/${SECRET}`, keys: {} },
  deviceType: 'android',
  valid: true,
  createdAt: at,
  updatedAt: at,
  ...more,
});
const connection = { since: at, protocol: 'json', node: 'n1' };

let console: TestConsole;
let owner: Visitor;

beforeAll(async () => {
  console = await TestConsole.start();
  owner = await console.owner();
});
afterAll(() => console.stop());
beforeEach(() => {
  console.transport.calls.length = 0;
  console.forgetAnswers();
  console.transport.answer(installationsRpc.find, () => ({ results: ids.map((id) => installation(id)) }));
  console.transport.answer(installationsRpc.get, ({ objectId }) => ({ object: installation(objectId, { level: 7 }) }));
  console.transport.answer(pushOperationsRpc.describeDevices, ({ installationIds }) => ({
    devices: installationIds.map((installationId, index) => ({
      installationId,
      connection: index === 0 ? connection : null,
      waiting: index,
      dropped: 0,
    })),
  }));
});

const ask = async (route: ConsoleRoute, call: Parameters<Visitor['call']>[1] = {}) => {
  const answer = await owner.call(route, { ...call, params: { ...params, ...call.params } });
  expect(answer.text).not.toContain(SECRET);
  return answer;
};

describe('a push', () => {
  const body = { body: { data: { alert: 'hello' } } };

  it('is counted as push-delivery counts it, without ids of devices', async () => {
    const platforms = { android: { targeted: 3, unreachable: 1, vendor: 0 } };
    const counts = { total: 3, isExact: true, platforms, unreachable: 1, leftOut: null };
    const sample = [{ objectId: 'device1', installationId: SECRET, platform: 'android' }];
    console.transport.answer(pushOperationsRpc.countTargets, () => ({ ...counts, sample }));
    const answer = await ask(consoleApi.countPushTargets, { body });
    expect(answer.body).toEqual({ ...counts, sample: [{ objectId: 'device1', deviceType: 'android' }] });
    expect(console.transport.requestsOf(pushOperationsRpc.countTargets)).toEqual([{ ...params, ...body }]);
  });

  it.each([
    ['1,000 devices', 1_000, true, 200],
    ['more devices', 1_001, true, 403],
    ['an unknown number of devices', 10, false, 403],
  ] as const)('to %s needs a fresh proof only where they may be many', async (_, total, isExact, status) => {
    const sent = { objectId: 'p1', createdAt: at };
    console.transport.answer(pushOperationsRpc.send, () => sent);
    console.transport.answer(pushOperationsRpc.countTargets, () => ({
      ...{ total, isExact, platforms: {}, unreachable: 0, leftOut: null, sample: [] },
    }));
    await console.database.query(`UPDATE console.sessions SET proven_at = now() - interval '11 minutes'`);
    const answer = await ask(consoleApi.sendPush, { body });
    const isSent = status === 200;
    expect([answer.status, answer.body['name']]).toEqual([status, isSent ? undefined : 'PROOF_REQUIRED']);
    expect(console.transport.requestsOf(pushOperationsRpc.send)).toHaveLength(isSent ? 1 : 0);
    const { body: log } = await owner.call(consoleApi.listAudit, { query: { action: 'sendPush' } });
    expect(log).toMatchObject({
      items: [{ outcome: isSent ? 'done' : 'refused' }, ...(log['items'] as object[]).slice(1)],
    });

    const proof = await owner.call(consoleApi.prove, { body: { password: PASSWORD } });
    expect(proof.status).toBe(200);
    console.transport.calls.length = 0;
    expect((await ask(consoleApi.sendPush, { body })).body).toEqual(sent);
    expect(console.transport.requestsOf(pushOperationsRpc.countTargets)).toEqual([]);
  });

  it('at a later time needs a fresh proof, because other devices may match then', async () => {
    const later = { body: { data: { alert: 'hello' }, push_time: '2030-01-01T00:00:00.000Z' } };
    console.transport.answer(pushOperationsRpc.send, () => ({ objectId: 'p1', createdAt: at }));
    await console.database.query(`UPDATE console.sessions SET proven_at = now() - interval '11 minutes'`);
    expect((await ask(consoleApi.sendPush, { body: later })).body['name']).toBe('PROOF_REQUIRED');
    expect(console.transport.requestsOf(pushOperationsRpc.send)).toEqual([]);
    await owner.call(consoleApi.prove, { body: { password: PASSWORD } });
    expect((await ask(consoleApi.sendPush, { body: later })).status).toBe(200);
  });

  it.each(['2020-01-01T10:00:00.000Z', { __type: 'Date', iso: '2020-01-01T10:00:00.000Z' }])(
    'at a past time is refused: %j',
    async (time) => {
      const past = { body: { data: { alert: 'hello' }, push_time: time } };
      const answer = await ask(consoleApi.sendPush, { body: past });
      expect([answer.status, answer.body['name']]).toEqual([400, 'INCORRECT_TYPE']);
      expect(answer.text).toContain('2020-01-01T10:00:00.000Z is past');
      expect(console.transport.requestsOf(pushOperationsRpc.send)).toEqual([]);
    },
  );

  const byId = { className: '_Installation', order: '-installationId', limit: 1 };
  it.each<[string, JsonObject]>([
    ['a comparison', { installationId: { $lt: 'm' } }],
    ['a pattern in a branch', { $or: [{ deviceType: 'ios' }, { $and: [{ deviceToken: { $regex: '^a' } }] }] }],
    ['a part of an address', { 'webPush.endpoint': { $regex: '^https' } }],
    ['a test of two', { registrationId: { $exists: true, $gt: 'a' } }],
    ['a sub-query', { owner: { $inQuery: { className: '_Installation', where: { deviceToken: { $ne: 'a' } } } } }],
    ['the order of a sub-query', { level: { $select: { key: 'level', query: byId } } }],
    [
      'the order of a query for pointers',
      { $and: [{ owner: { $notInQuery: { ...byId, order: 'level, -webPush.endpoint' } } }] },
    ],
    [
      'the key of a sub-query',
      { note: { $dontSelect: { key: 'deviceToken', query: { className: '_Installation' } } } },
    ],
  ])('finds no id or token of a device by %s', async (_, where) => {
    for (const route of [consoleApi.countPushTargets, consoleApi.sendPush]) {
      const answer = await ask(route, { body: { body: { data: { alert: 'hello' }, where } } });
      expect([answer.status, answer.body['name']]).toEqual([400, 'INVALID_QUERY']);
    }
    expect(console.transport.requestsOf(pushOperationsRpc.countTargets)).toEqual([]);
  });

  it('goes to devices that a sub-query finds by other fields', async () => {
    const query = { className: '_Installation', order: 'level,-createdAt', where: { level: { $gt: 1 } } };
    const where = { owner: { $select: { key: 'owner', query } }, order: 'deviceToken', key: 'webPush' };
    console.transport.answer(pushOperationsRpc.send, () => ({ objectId: 'p1', createdAt: at }));
    expect((await ask(consoleApi.sendPush, { body: { body: { data: { alert: 'hello' }, where } } })).status).toBe(200);
  });

  it('goes to devices whose ids are known, and its record and the audit log have none of them', async () => {
    const where = {
      deviceType: 'web',
      $or: [
        { objectId: { $in: [SECRET, 'd1'] } },
        { installationId: SECRET },
        { deviceToken: { $in: [SECRET] } },
        { webPush: { $exists: true } },
      ],
    };
    console.transport.answer(pushOperationsRpc.send, () => ({ objectId: 'p1', createdAt: at }));
    expect((await ask(consoleApi.sendPush, { body: { body: { data: { alert: 'hello' }, where } } })).status).toBe(200);
    expect(console.transport.requestsOf(pushOperationsRpc.send)).toMatchObject([{ body: { where } }]);
    const log = await ask(consoleApi.listAudit, { query: { action: 'sendPush' } });
    const hiddenIn = (text: string) => ({
      deviceType: 'web',
      $or: [{ objectId: { $in: [text, 'd1'] } }, { installationId: text }, { deviceToken: text }, { webPush: text }],
    });
    expect((log.body['items'] as object[])[0]).toMatchObject({ change: { body: { where: hiddenIn('(changed)') } } });

    const times = { createdAt: at, expiresAt: at, dueAt: at };
    const reply = { objectId: 'p1', status: 'done', error: null, ...times, platforms: {}, vendors: {} } as const;
    console.transport.answer(pushOperationsRpc.getStatus, () => reply);
    const notification = { objectId: 'p1', status: 'done', createdAt: at, msg: {}, where };
    console.transport.answer(pushRpc.getNotification, () => ({ notification }));
    const answer = await ask(consoleApi.getPush, { params: { pushId: 'p1' } });
    expect(answer.body).toMatchObject({ push: { where: hiddenIn('(hidden)') } });
  });

  it('by the command line has no id of a device in the audit log, nor one that an earlier version wrote', async () => {
    const change = { body: { data: { alert: 'hello' }, where: { installationId: SECRET } } };
    const { id } = await console.rpc.beginAction({ by: 'root', action: 'sendPush', ...params, change });
    const stored = 'SELECT change FROM console.audit WHERE id = $1';
    expect(JSON.stringify(await console.database.query(stored, [id]))).not.toContain(SECRET);
    await console.database.query(
      `INSERT INTO console.audit (id, operator_name, way, action, change, request_id)
       VALUES (gen_random_uuid(), 'root', 'cli', 'sendPush', $1, 'earlier')`,
      [JSON.stringify(change)],
    );
    const { body: log } = await ask(consoleApi.listAudit, { query: { action: 'sendPush', limit: '2' } });
    const hidden = { body: { data: { alert: 'hello' }, where: { installationId: '(changed)' } } };
    expect(log).toMatchObject({ items: [{ change: hidden }, { change: hidden }] });
  });

  it('is not sent while its devices cannot be counted', async () => {
    console.transport.fail(pushOperationsRpc.countTargets, appError('SERVICE_UNAVAILABLE'));
    await console.database.query(`UPDATE console.sessions SET proven_at = now() - interval '11 minutes'`);
    expect((await ask(consoleApi.sendPush, { body })).status).toBe(503);
    expect(console.transport.requestsOf(pushOperationsRpc.send)).toEqual([]);
  });

  it.each([
    ['to every platform', { ios: '{"aps":{}}' }, null, { default: '{"alert":1}', ios: '{"aps":{}}' }],
    ['to platforms that all have a body', { ios: '{"aps":{}}' }, ['ios'], { ios: '{"aps":{}}' }],
    ['also to a platform without a body', {}, ['web'], { default: '{"alert":1}' }],
  ])('is shown by platform where it goes %s', async (_, bodies, platforms, shown) => {
    const message = {
      body: '{"alert":1}',
      bodies: bodies as Record<string, string>,
      platforms,
      dueAt: at,
      expiresAt: at,
    };
    console.transport.answer(pushOperationsRpc.preview, () => ({ bytes: 9, maxBytes: 99, message, problem: null }));
    const answer = await ask(consoleApi.previewPush, { body });
    expect(answer.body).toEqual({ bytes: 9, maxBytes: 99, bodies: shown, problem: null });
  });

  it('is shown with the error that it would have', async () => {
    const problem = { name: 'INCORRECT_TYPE', code: 111, message: 'data: is missing.' };
    console.transport.answer(pushOperationsRpc.preview, () => ({ bytes: 9, maxBytes: 99, message: null, problem }));
    const answer = await ask(consoleApi.previewPush, { body });
    expect(answer.body).toEqual({ bytes: 9, maxBytes: 99, bodies: {}, problem: 'data: is missing.' });
  });

  it.each([
    ['scheduled', null, at],
    ['in-queue', { partition: 5, of: 64 }, null],
    ['done', null, null],
  ] as const)('that is %s has the progress %j', async (status, progress, startsAt) => {
    const times = { createdAt: at, expiresAt: '2026-01-02T04:04:05.678Z', dueAt: at };
    const reply = { objectId: 'p1', status, error: null, ...times, platforms: {}, vendors: {}, flowControl: 1_000 };
    const found = { partition: 5, of: 64 } as const;
    console.transport.answer(pushOperationsRpc.getStatus, () => ({ ...reply, progress: found }));
    const notification = { objectId: 'p1', status, createdAt: at, msg: { alert: 'hello' }, prod: 'dev' };
    console.transport.answer(pushRpc.getNotification, () => ({ notification }));
    const answer = await ask(consoleApi.getPush, { params: { pushId: 'p1' } });
    expect(answer.body).toMatchObject({
      push: { title: 'hello', status, progress, startsAt, lifeSeconds: 3_600, flowControl: 1_000, prod: 'dev' },
    });
  });

  it('can be stopped where its title is cut within a character', async () => {
    const notification = { objectId: 'p1', status: 'scheduled', createdAt: at, msg: { alert: `${'x'.repeat(119)}😀` } };
    console.transport.answer(pushRpc.getNotification, () => ({ notification }));
    console.transport.answer(pushRpc.removeNotification, () => ({}));
    expect(await ask(consoleApi.stopPush, { params: { pushId: 'p1' } })).toMatchObject({ status: 200 });
    const log = await owner.call(consoleApi.listAudit, { query: { action: 'stopPush', limit: '1' } });
    const before = { title: `${'x'.repeat(119)}\uFFFD` };
    expect(log.body).toMatchObject({ items: [{ outcome: 'done', before }] });
  });
});

describe('the devices of an application', () => {
  it('are listed page by page with their connections, newest first', async () => {
    const query = { deviceType: 'android', channel: 'news', userId: 'u1', limit: '2' };
    const { body } = await ask(consoleApi.listDevices, { query });
    expect(body).toMatchObject({
      items: [
        { objectId: 'device1', isConnected: true, connectedSince: at, waiting: 0, isValid: true },
        { objectId: 'device2', isConnected: false, connectedSince: null, waiting: 1 },
      ],
      next: `${at},device2`,
    });
    await ask(consoleApi.listDevices, { query: { after: String(body['next']) } });
    const createdAt = { __type: 'Date', iso: at };
    const user = { __type: 'Pointer', className: '_User', objectId: 'u1' };
    expect(console.transport.requestsOf(installationsRpc.find)).toMatchObject([
      { where: { deviceType: 'android', channels: 'news', user }, order: '-createdAt,-objectId', limit: 3 },
      {
        where: {
          createdAt: { $lte: createdAt },
          $or: [{ createdAt: { $lt: createdAt } }, { createdAt, objectId: { $lt: 'device2' } }],
        },
        limit: 51,
      },
    ]);
  });

  it('have unknown connections while the store of the queues is away', async () => {
    console.transport.fail(pushOperationsRpc.describeDevices, appError('SERVICE_UNAVAILABLE'));
    const { body } = await ask(consoleApi.listDevices);
    const unknown = { isConnected: null, connectedSince: null, waiting: null };
    expect(body).toMatchObject({ items: ids.map((objectId) => ({ objectId, ...unknown })), next: null });
  });

  it('are listed where connected, without the place of the next page in clear', async () => {
    const connected = Array.from({ length: 201 }, (_, n) => ({ ...connection, installationId: `${SECRET}-${n}` }));
    const next = { partition: 3, cursor: SECRET };
    console.transport.answer(pushOperationsRpc.listConnected, () => ({ devices: connected, next }));
    const { body } = await ask(consoleApi.listConnectedDevices, { query: { limit: '150' } });
    // Two chunks, with three planned installations each.
    expect(body['items']).toHaveLength(6);
    expect(console.transport.requestsOf(installationsRpc.find).map(({ limit }) => limit)).toEqual([200, 1]);
    const cursor = String(body['next']);
    await ask(consoleApi.listConnectedDevices, { query: { after: cursor } });
    const asked = console.transport.requestsOf(pushOperationsRpc.listConnected);
    expect(asked).toEqual([
      { ...params, limit: 150 },
      { ...params, limit: 50, after: next },
    ]);
    const elsewhere = { params: { appId: 'other' }, query: { after: cursor } };
    for (const call of [elsewhere, { query: { after: '0,0' } }])
      expect((await ask(consoleApi.listConnectedDevices, call)).body).toMatchObject({ name: 'INVALID_QUERY' });
  });
});

describe('a device', () => {
  const one = { params: { deviceId: 'device1' } };

  it('is shown with the fields of the app, and without its ids and tokens', async () => {
    const user = { __type: 'Pointer', className: '_User', objectId: 'u1' };
    const object = installation('device1', { level: 7, channels: ['news'], user, valid: false });
    console.transport.answer(installationsRpc.get, () => ({ object }));
    const { body } = await ask(consoleApi.getDevice, one);
    expect(body['device']).toEqual({
      objectId: 'device1',
      deviceType: 'android',
      channels: ['news'],
      userId: 'u1',
      isValid: false,
      createdAt: at,
      updatedAt: at,
      isConnected: true,
      connectedSince: at,
      waiting: 0,
      fields: { level: 7, user },
    });
  });

  it('without an installation id is not connected', async () => {
    console.transport.answer(installationsRpc.get, () => ({ object: { objectId: 'd', createdAt: at, updatedAt: at } }));
    const { body } = await ask(consoleApi.getDevice, one);
    expect(body).toMatchObject({ device: { deviceType: 'unknown', isConnected: false, waiting: 0, fields: {} } });
    expect(console.transport.requestsOf(pushOperationsRpc.describeDevices)).toEqual([]);
  });

  it('is not found where there is none', async () => {
    console.transport.answer(installationsRpc.get, () => ({ object: null }));
    expect((await ask(consoleApi.getDevice, one)).status).toBe(404);
  });

  it('is changed with the rights of the master key, and recorded with its former values', async () => {
    console.transport.answer(installationsRpc.update, () => ({ result: {} }));
    const changes = { level: 8, channels: ['news'] };
    const { status } = await ask(consoleApi.changeDevice, { ...one, body: { changes } });
    expect(status).toBe(200);
    const [update] = console.transport.requestsOf(installationsRpc.update);
    expect(update).toMatchObject({ caller: { appId: APP, isMaster: true }, objectId: 'device1', changes });
    const { body } = await owner.call(consoleApi.listAudit, { query: { action: 'changeDevice' } });
    expect(body).toMatchObject({ items: [{ target: 'device1', before: { level: 7, channels: null } }] });
  });

  it.each(['deviceToken', 'installationId', 'registrationId', 'webPush', 'webPush.endpoint', 'objectId'])(
    'keeps its %s',
    async (name) => {
      const { status } = await ask(consoleApi.changeDevice, { ...one, body: { changes: { [name]: 'x' } } });
      expect([status, console.transport.requestsOf(installationsRpc.update)]).toEqual([400, []]);
    },
  );

  it('is deleted with others, each once', async () => {
    console.transport.answer(installationsRpc.remove, () => ({}));
    const { body } = await ask(consoleApi.deleteDevices, { body: { deviceIds: ['device1', 'device2', 'device1'] } });
    expect(body).toEqual({ deleted: 2 });
    for (const target of ['device1', 'device2', 'device']) {
      const { body: log } = await owner.call(consoleApi.listAudit, { query: { action: 'deleteDevices', target } });
      expect((log as { items: unknown[] }).items).toHaveLength(target === 'device' ? 0 : 1);
    }
    const [removed] = console.transport.requestsOf(installationsRpc.remove);
    expect(removed).toMatchObject({ caller: { appId: APP, isMaster: true }, objectIds: ['device1', 'device2'] });
  });
});

import { Test, type TestingModule } from '@nestjs/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApplicationDirectory } from '#admission';
import type { Clock } from '#bootstrap';
import type { Caller, JsonObject } from '#contracts';
import { DatabaseModule } from '#database';
import { appError } from '#errors';
import { QueryDatabase } from '#objects/store';
import { Metrics, ObservabilityModule } from '#observability';
import { queryPlan, unique } from '#testing';
import { migratedOptions } from '../../test/push-database.js';
import type { DeviceQueues } from '../device-queues/device-queues.js';
import type { PushDispatcher } from '../dispatch/push-dispatcher.js';
import { PushDatabase } from '../push-delivery.database.js';
import { VendorBatchesRepository } from '../vendors/vendor-batches.repository.js';
import { NotificationsController } from './notifications.controller.js';
import type { ConnectedCounts } from './notifications.repository.js';
import { NotificationsRepository, PushCleanup } from './notifications.repository.js';
import { PushController } from './push.controller.js';

const PARALLEL = 20;
const NOW = new Date('2026-01-01T00:00:00.000Z');
const data = { alert: 'hello' };
const later = { data, push_time: '2026-01-02T00:00:00.000Z' };
const master: Caller = { requestId: 'test', appId: 'app', isMaster: true };
const client: Caller = { ...master, isMaster: false };
const refused = (errorName: string) => expect.objectContaining({ errorName }) as Error;

/** Long lists are encoded. */
type Encoded = Readonly<Record<'json', string>>;

function decoded<Reply extends object>(reply: Reply | Encoded): Exclude<Reply, Encoded> {
  return ('json' in reply ? JSON.parse(reply.json) : reply) as Exclude<Reply, Encoded>;
}

describe('pushes', () => {
  let module: TestingModule;
  let database: PushDatabase;
  let repository: NotificationsRepository;
  let queries: QueryDatabase;
  let [now, allowClientPush] = [NOW, false];
  let statistics: DeviceQueues['statistics'];
  let [woken, forgotten]: [number, string[]] = [0, []];
  let pushes: PushController;
  let notifications: NotificationsController;

  const send = (body: JsonObject, caller = master) => pushes.send({ caller, body: { data, ...body }, prod: 'dev' });
  const get = async (objectId: string, caller = master) => (await notifications.get({ caller, objectId })).notification;
  const scheduled = async (limit = 100) =>
    decoded(await notifications.findScheduled({ caller: master, limit, skip: 0 })).results;
  const scheduledIds = async () => (await scheduled()).map(({ id }) => Number(id));
  const list = async (query: JsonObject = {}) =>
    decoded(await notifications.find({ caller: master, limit: 100, skip: 0, count: true, returnAcl: false, ...query }));
  const settle = (changes: string, objectId: string) =>
    database.query(`UPDATE push.notifications SET ${changes} WHERE object_id = $1`, [objectId]);

  beforeAll(async () => {
    const options = await migratedOptions(10);
    module = await Test.createTestingModule({
      imports: [ObservabilityModule.forRoot(new Metrics()), DatabaseModule.forRoot(options, PushDatabase)],
      providers: [NotificationsRepository],
    }).compile();
    database = module.get(PushDatabase);
    repository = module.get(NotificationsRepository);
    const clock = { now: () => now } satisfies Clock;
    const applications = { find: () => Promise.resolve({ settings: { allowClientPush } }) };
    const queues = {
      statistics: (...args: Parameters<DeviceQueues['statistics']>) => statistics(...args),
      recentStatistics: (...args: Parameters<DeviceQueues['statistics']>) => statistics(...args),
      forget: ({ id }: { id: string }) => {
        forgotten.push(id);
        return Promise.reject(appError('SERVICE_UNAVAILABLE'));
      },
    };
    const dispatcher = { accepted: (isDue: boolean) => (woken += isDue ? 1 : 0) };
    pushes = new PushController(
      applications as unknown as ApplicationDirectory,
      repository,
      database,
      clock,
      dispatcher as unknown as PushDispatcher,
    );
    queries = new QueryDatabase(options);
    notifications = new NotificationsController(
      repository,
      queues as Partial<DeviceQueues> as DeviceQueues,
      queries,
      clock,
      new VendorBatchesRepository(database),
      {} as ConnectedCounts,
    );
  });
  afterAll(async () => {
    await Promise.all([module.close(), queries.close()]);
  });
  beforeEach(async () => {
    [now, allowClientPush, woken, forgotten] = [NOW, false, 0, []];
    statistics = (asked) => Promise.resolve(asked.map(() => new Map()));
    await database.query('TRUNCATE push.notifications, push.request_ids CASCADE');
  });

  it('are stored once they are accepted, and shown as requested', async () => {
    const accepted = await send({ where: { city: 'Ulm' }, channels: ['news'], notification_id: 'n1' });
    expect(accepted.objectId).toMatch(/^[0-9a-f]{24}$/);
    expect(accepted.createdAt).toBe(NOW.toISOString());
    expect(await get(accepted.objectId)).toEqual({
      ...accepted,
      updatedAt: NOW.toISOString(),
      notificationId: 'n1',
      status: 'in-queue',
      msg: data,
      where: { $and: [{ city: 'Ulm' }, { channels: { $in: ['news'] } }] },
      prod: 'dev',
      'from-service': 'push',
      'push-time': NOW.toISOString(),
      'expiration-time': '2026-01-08T00:00:00.000Z',
      devices: 0,
      successes: 0,
      invalidTokens: 0,
      errors: null,
      platforms: {},
    });
  });

  it('that are due start once they are stored', async () => {
    await send({ where: { installationId: 'i' } });
    await send(later);
    expect(woken).toBe(1);
  });

  it('with a target that cannot be searched for are refused, and leave nothing', async () => {
    await expect(send({ where: { ACL: { $exists: true } }, req_id: 'r1' })).rejects.toThrow(refused('INVALID_QUERY'));
    await expect(send({ where: { 'a b': 1 }, req_id: 'r1' })).rejects.toThrow(refused('INVALID_KEY_NAME'));
    expect((await list()).count).toBe(0);
    await expect(send({ req_id: 'r1' })).resolves.toBeDefined();
  });

  it('of clients need the setting', async () => {
    await expect(send({}, client)).rejects.toThrow(refused('CLIENT_PUSH_OFF'));
    allowClientPush = true;
    await expect(send({}, client)).resolves.toBeDefined();
  });

  it('with one request id are accepted once, even concurrently', async () => {
    const reqId = unique('r').replaceAll(/\W/g, '').slice(0, 16);
    const answers = await Promise.all(Array.from({ length: PARALLEL }, () => send({ req_id: reqId })));
    expect(new Set(answers.map(({ objectId }) => objectId)).size).toBe(1);
    expect((await list()).count).toBe(1);
  });

  it('are counted by the UTC day of their creation, over all platforms', async () => {
    const counts = (enqueued: number, acknowledged: number) => ({
      targeted: 9,
      unreachable: 0,
      enqueued,
      acknowledged,
      overflowed: 0,
    });
    const at = async (createdAt: string, platforms: object, caller = master) => {
      const { objectId } = await send({}, caller);
      await settle(`created_at = '${createdAt}', counts = '${JSON.stringify(platforms)}'`, objectId);
    };
    await at('2026-01-01T23:59:59.999Z', { ios: counts(1, 1) });
    await at('2026-01-02T00:00:00.000Z', { ios: counts(5, 2), android: counts(3, 3) });
    await at('2026-01-02T09:00:00.000Z', { ios: counts(1, 0) });
    await at('2026-01-02T09:00:00.000Z', { ios: counts(7, 7) }, { ...master, appId: 'other' });
    await at('2026-01-03T09:00:00.000Z', {});
    const { days } = await notifications.countByDay({ appId: 'app', from: '2026-01-02' });
    expect(days).toEqual([
      { day: '2026-01-02', queued: 9, acknowledged: 5 },
      { day: '2026-01-03', queued: 0, acknowledged: 0 },
    ]);
  });

  it('are counted by the index of the application', async () => {
    await send({});
    await database.query(
      `INSERT INTO push.notifications (app_id, object_id, status, is_bulk, target, data, message, prod, due_at, expires_at, created_at, updated_at)
       SELECT 'app' || n % 100, n::text, 'done', false, '{}', '{}', '{}', 'dev', now(), now(), now() - n * interval '1 minute', now()
         FROM generate_series(1, 20000) AS n`,
    );
    await database.query('ANALYZE push.notifications');
    const from = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const plan = await queryPlan(database, (within) => repository.countByDay(within, 'app1', from));
    expect(plan.indexes).toEqual(['notifications_newest_idx']);
    expect(plan.nodeTypes).not.toContain('Seq Scan');
  });

  it('with one request id are accepted once in five minutes and per application', async () => {
    const first = await send({ req_id: 'again' });
    now = new Date(NOW.getTime() + 299_000);
    expect(await send({ req_id: 'again' })).toEqual(first);
    const foreign = await send({ req_id: 'again' }, { ...master, appId: 'other' });
    expect(foreign.objectId).not.toBe(first.objectId);
    now = new Date(NOW.getTime() + 300_000);
    const second = await send({ req_id: 'again' });
    expect(second.objectId).not.toBe(first.objectId);
    expect(await send({ req_id: 'again' })).toEqual(second);
  });

  it('show whom they were for to the master key alone', async () => {
    const { objectId } = await send({ where: { installationId: 'secret' } });
    expect(JSON.stringify(await get(objectId, client))).not.toContain('secret');
  });

  it('are visible to their own application only', async () => {
    const { objectId } = await send({});
    const stranger = { ...master, appId: 'other' };
    await expect(get(objectId, stranger)).rejects.toThrow(refused('NOT_FOUND'));
    await expect(notifications.remove({ caller: stranger, objectId })).rejects.toThrow(refused('NOT_FOUND'));
    await expect(get(objectId)).resolves.toBeDefined();
  });

  it('show the statistics of the queues, or the stored ones while the queues are unavailable', async () => {
    const { objectId } = await send({});
    const counts = { web: { targeted: 3, unreachable: 0, enqueued: 3, acknowledged: 1, overflowed: 0 } };
    await settle(`counts = '${JSON.stringify(counts)}'`, objectId);
    statistics = () => Promise.resolve([new Map([['web', { enqueued: 3, acknowledged: 2, overflowed: 0 }]])]);
    expect(await get(objectId)).toMatchObject({ devices: 3, successes: 2 });
    statistics = () => Promise.reject(appError('SERVICE_UNAVAILABLE'));
    expect(await get(objectId)).toMatchObject({ devices: 3, successes: 1 });
    now = new Date('2026-01-08T00:00:00.000Z');
    expect(await notifications.getStatus({ appId: 'app', objectId })).toMatchObject({
      platforms: { web: { queued: 0, expired: 2 } },
    });
  });

  it('are listed with the statistics of the queues, which are asked once and only for counts that may grow', async () => {
    const [scheduled, running, finished, final] = [await send(later), await send({}), await send({}), await send({})];
    const counts = { web: { targeted: 9, unreachable: 0, enqueued: 9, acknowledged: 1, overflowed: 0 } };
    for (const { objectId } of [running, finished, final])
      await settle(`counts = '${JSON.stringify(counts)}'`, objectId);
    await settle(`status = 'done', next_tally_at = now()`, finished.objectId);
    await settle(`status = 'done'`, final.objectId);
    const asked: string[][] = [];
    statistics = (pushes) => {
      asked.push(pushes.map(({ id }) => id).sort());
      return Promise.resolve(
        pushes.map(
          ({ id }) => new Map([['web', { enqueued: 9, acknowledged: id === running.objectId ? 5 : 7, overflowed: 0 }]]),
        ),
      );
    };
    const { results } = await list();
    expect(asked).toEqual([[running.objectId, finished.objectId].sort()]);
    const successes = Object.fromEntries(results.map((result) => [result['objectId'] as string, result['successes']]));
    expect(successes).toEqual({
      [scheduled.objectId]: 0,
      [running.objectId]: 5,
      [finished.objectId]: 7,
      [final.objectId]: 1,
    });
  });

  it('are listed one after the other where they are long, with a pause as long as the work', async () => {
    const WORK_MS = 40;
    await send({});
    const times: { startedAt: number; endedAt: number }[] = [];
    statistics = async (asked) => {
      const startedAt = performance.now();
      await new Promise((resolve) => setTimeout(resolve, WORK_MS));
      times.push({ startedAt, endedAt: performance.now() });
      return asked.map(() => new Map());
    };
    await Promise.all(Array.from({ length: 3 }, () => list({ limit: 1_000 })));
    const pauses = times.slice(1).map(({ startedAt }, place) => startedAt - (times[place]?.endedAt ?? 0));
    expect(pauses).toHaveLength(2);
    expect(Math.min(...pauses)).toBeGreaterThan(WORK_MS / 2);
  });

  it('are listed at once where they are short', async () => {
    await send({});
    let started = 0;
    let letEnd: () => void = () => undefined;
    const allStarted = new Promise<void>((resolve) => (letEnd = resolve));
    // The lists end only if all of them run at once.
    statistics = async (asked) => {
      started += 1;
      if (started === 3) letEnd();
      await allStarted;
      return asked.map(() => new Map());
    };
    await Promise.all(Array.from({ length: 3 }, () => list({ limit: 100 })));
    expect(started).toBe(3);
  });

  it('are removed with their statistics, even while the queues are unavailable', async () => {
    const { objectId } = await send({});
    await notifications.remove({ caller: master, objectId });
    expect(forgotten).toEqual([objectId]);
    await expect(notifications.remove({ caller: master, objectId })).rejects.toThrow(refused('NOT_FOUND'));
  });

  it('are listed by conditions, the newest first', async () => {
    const first = await send({ notification_id: 'first' });
    now = new Date(NOW.getTime() + 1);
    const second = await send({ data: { alert: 'second' } });
    await send({}, { ...master, appId: 'other' });
    const idsOf = async (query: JsonObject) => (await list(query)).results.map(({ objectId }) => objectId);
    expect(await idsOf({})).toEqual([second.objectId, first.objectId]);
    expect(await idsOf({ order: 'createdAt', limit: 1 })).toEqual([first.objectId]);
    expect(await idsOf({ where: { notificationId: 'first' } })).toEqual([first.objectId]);
    expect(await idsOf({ where: { 'msg.alert': 'second' } })).toEqual([second.objectId]);
    expect(await idsOf({ where: { status: 'done' } })).toEqual([]);
    expect((await list({ keys: ['msg.alert'], limit: 1 })).results[0]).toMatchObject({ msg: { alert: 'second' } });
    await expect(list({ where: { where: 1 } })).rejects.toThrow(refused('INVALID_QUERY'));
    await expect(list({ where: { a: { $inQuery: { className: '_User', where: {} } } } })).rejects.toThrow(
      refused('INVALID_QUERY'),
    );
  });

  it('that are scheduled are listed and cancelled by their number', async () => {
    const { objectId } = await send(later);
    await send({});
    const [only, ...others] = await scheduled(10);
    expect(others).toEqual([]);
    expect(only).toMatchObject({
      push_time: later.push_time,
      expire_time: Date.parse('2026-01-09T00:00:00.000Z'),
      push_msg: { id: objectId, 'app-id': 'app', msg: data, where: { query: {} } },
    });
    expect(await get(objectId)).toMatchObject({ status: 'scheduled' });
    const id = Number(only?.['id']);
    const stranger = { ...master, appId: 'other' };
    await expect(notifications.getScheduled({ caller: stranger, id })).rejects.toThrow(refused('NOT_FOUND'));
    expect(await notifications.getScheduled({ caller: master, id })).toEqual({ push: only });
    await expect(notifications.cancelScheduled({ caller: stranger, id })).rejects.toThrow(refused('NOT_FOUND'));
    await notifications.cancelScheduled({ caller: master, id });
    await expect(notifications.cancelScheduled({ caller: master, id })).rejects.toThrow(refused('NOT_FOUND'));
    await expect(get(objectId)).rejects.toThrow(refused('NOT_FOUND'));
  });

  it('are either started or cancelled when both happen at once', async () => {
    for (let round = 0; round < PARALLEL; round += 1) {
      const { objectId } = await send(later);
      const [id = 0] = await scheduledIds();
      const [cancelled, begun] = await Promise.all([
        notifications.cancelScheduled({ caller: master, id }).then(
          () => true,
          () => false,
        ),
        database.query(
          `UPDATE push.notifications SET status = 'in-queue' WHERE object_id = $1 AND status = 'scheduled' RETURNING 1`,
          [objectId],
        ),
      ]);
      expect([cancelled, begun.length]).toEqual(cancelled ? [true, 0] : [false, 1]);
      await database.query('TRUNCATE push.notifications CASCADE');
    }
  });

  it('need the master key, except to get one by its id', async () => {
    const { objectId } = await send(later);
    const attempts = [
      () => notifications.find({ caller: client, limit: 1, skip: 0, count: false, returnAcl: false }),
      () => notifications.remove({ caller: client, objectId }),
      () => notifications.findScheduled({ caller: client, limit: 1, skip: 0 }),
      () => notifications.cancelScheduled({ caller: client, id: 1 }),
    ];
    for (const attempt of attempts) await expect(attempt()).rejects.toThrow(refused('FORBIDDEN'));
    await notifications.remove({ caller: master, objectId });
    await expect(notifications.remove({ caller: master, objectId })).rejects.toThrow(refused('NOT_FOUND'));
  });

  describe('are deleted', () => {
    let cleanup: PushCleanup;

    beforeAll(() => {
      cleanup = new PushCleanup(database, new Metrics());
    });

    const keep = async (changes: string) => {
      const { objectId } = await send({});
      await settle(changes, objectId);
      while (await cleanup.processBatch());
      return (await list()).count === 1;
    };
    const over = `status = 'done', due_at = now() - interval '8 days', expires_at = now() - interval '1 day'`;

    it.each<[string, string, boolean]>([
      ['a week after they were sent', over, false],
      ['if they failed, too', `${over}, status = 'error'`.replace(`status = 'done', `, ''), false],
      ['not earlier', over.replace('8 days', '6 days'), true],
      ['not while a device may get them', over.replace("- interval '1 day'", "+ interval '1 day'"), true],
      ['not while the queues hold their statistics', `${over}, next_tally_at = now()`, true],
      ['not while they are being processed', over.replace('done', 'in-queue'), true],
    ])('%s', async (_, changes, isKept) => {
      expect(await keep(changes)).toBe(isKept);
    });

    it('with the ids of their requests, after an hour', async () => {
      now = new Date(Date.now() - 3_590_000);
      await send({ req_id: 'young' });
      now = new Date(Date.now() - 3_610_000);
      await send({ req_id: 'old' });
      await cleanup.processBatch();
      expect(await database.query('SELECT req_id FROM push.request_ids')).toEqual([{ req_id: 'young' }]);
    });

    it('separately from request ids: one statement that fails does not keep the other', async () => {
      now = new Date(Date.now() - 3_610_000);
      await send({ req_id: 'old' });
      const query = vi.spyOn(database, 'query').mockRejectedValueOnce(appError('SERVICE_UNAVAILABLE'));
      await expect(cleanup.processBatch()).rejects.toThrow(refused('SERVICE_UNAVAILABLE'));
      query.mockRestore();
      expect(await database.query('SELECT req_id FROM push.request_ids')).toEqual([]);
    });
  });
});

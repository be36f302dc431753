import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Repository } from 'typeorm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '#contracts';
import { appError } from '#errors';
import { Metrics } from '#observability';
import { eventually } from '#testing';
import { NotedQueues, startDispatcher } from '../../test/noted-queues.js';
import { openPushDatabase } from '../../test/push-database.js';
import type { WakeUp } from '../device-queues/connector-nodes.js';
import { type DeviceQueues, partitionOf } from '../device-queues/device-queues.js';
import { NotificationsRepository } from '../notifications/notifications.repository.js';
import type { PushDatabase } from '../push-delivery.database.js';
import type { NotificationEntity } from '../pushes/push.entity.js';
import type { NotificationStatus, PlatformCounts } from '../pushes/push.row.js';
import { LanesRepository } from './lanes.repository.js';
import { type PushDispatcher, PushGauge } from './push-dispatcher.js';

interface StoredPush {
  readonly status: string;
  readonly error: string | null;
  readonly counts: Record<string, PlatformCounts>;
  readonly failures: number;
  readonly is_bulk: boolean;
}

describe('the dispatcher', () => {
  let database: PushDatabase;
  let appId: string;
  let queues: NotedQueues;
  let wakeUps: WakeUp[];
  let dispatchers: PushDispatcher[];
  let metrics: Metrics;

  const start = (own: Pick<DeviceQueues, 'enqueue'> = queues) => {
    const dispatcher = startDispatcher(database, own, wakeUps, metrics);
    dispatchers.push(dispatcher);
    return dispatcher;
  };
  const install = async (count: number, { prefix = 'd', ...columns }: Record<string, unknown> = {}) => {
    const rows = Array.from({ length: count }, (_, index) => {
      const installationId = `${String(prefix)}-${index}`;
      return {
        app_id: appId,
        object_id: randomUUID(),
        partition: partitionOf({ appId, installationId }),
        installation_id: installationId,
        device_type: 'web',
        valid: true,
        fields: {},
        created_at: new Date(),
        updated_at: new Date(),
        ...columns,
      };
    });
    await database.query(
      `INSERT INTO push.installations
         (app_id, object_id, partition, installation_id, device_type, valid, fields, created_at, updated_at)
       SELECT app_id, object_id, partition, installation_id, device_type, valid, fields, created_at, updated_at
         FROM jsonb_populate_recordset(NULL::push.installations, $1::jsonb)`,
      [JSON.stringify(rows)],
    );
    return rows.map(({ installation_id: id }) => id);
  };
  const push = async (columns: Record<string, unknown> = {}, where: JsonObject[] = []) => {
    const objectId: string = randomUUID();
    const row = {
      app_id: appId,
      object_id: objectId,
      status: 'in-queue',
      is_bulk: true,
      target: { where },
      data: {},
      message: { body: '{}', bodies: {} },
      prod: 'prod',
      due_at: new Date(),
      expires_at: new Date(Date.now() + 3_600_000),
      created_at: new Date(),
      updated_at: new Date(),
      ...columns,
    };
    const names = Object.keys(row).join(', ');
    await database.query(
      `INSERT INTO push.notifications (${names}) SELECT ${names} FROM jsonb_populate_record(NULL::push.notifications, $1::jsonb)`,
      [JSON.stringify(row)],
    );
    return objectId;
  };
  const stored = async (objectId: string) => {
    const [row] = await database.query<StoredPush>(
      'SELECT status, error, counts, failures, is_bulk FROM push.notifications WHERE object_id = $1',
      [objectId],
    );
    return row!;
  };
  const ended = (objectId: string, status: string) =>
    eventually(async () => {
      const row = await stored(objectId);
      expect(row.status).toBe(status);
      return row;
    });

  beforeAll(async () => {
    database = await openPushDatabase(8);
  });
  afterAll(() => database.close());
  beforeEach(() => {
    [appId, queues, wakeUps, dispatchers] = [randomUUID(), new NotedQueues(), [], []];
    metrics = new Metrics();
  });
  afterEach(async () => {
    await Promise.all(dispatchers.map((dispatcher) => dispatcher.beforeApplicationShutdown()));
    await database.query('TRUNCATE push.installations, push.notifications, push.lanes CASCADE');
  });

  it('adds a push to the queue of each installation once, over many pages, and counts them', async () => {
    const ids = await install(4_700);
    const web = await push();
    start();
    const { counts } = await ended(web, 'done');
    expect([...queues.received].sort()).toEqual([...ids].sort());
    expect(counts).toEqual({
      web: { targeted: 4_700, unreachable: 0, enqueued: 0, acknowledged: 0, overflowed: 0 },
    });
    expect(wakeUps.every(({ isRepeated }) => !isRepeated)).toBe(true);
    expect(wakeUps.flatMap(({ devices }) => devices)).toHaveLength(4_700);
  });

  it('skips installations that are invalid, too old, of another platform, or do not meet the conditions', async () => {
    const fields = { channels: ['news'], level: 5 };
    const wanted = await install(3, { fields });
    await install(3, { prefix: 'invalid', fields, valid: false });
    await install(3, { prefix: 'old', fields, updated_at: new Date(Date.now() - 91 * 86_400_000) });
    await install(3, { prefix: 'android', fields, device_type: 'android' });
    await install(3, { prefix: 'elsewhere', fields: { channels: ['sports'], level: 5 } });
    await install(3, { prefix: 'weak', fields: { channels: ['news'], level: 1 } });
    await install(3, { prefix: 'foreign', fields, app_id: 'another application' });
    const target = { where: [{ channels: 'news' }, { level: { $gt: 3 } }], platforms: ['web'] };
    const objectId = await push({ target });
    start();
    await ended(objectId, 'done');
    expect([...queues.received].sort()).toEqual(wanted);
  });

  it('counts unreachable devices', async () => {
    await install(2);
    await install(3, { installation_id: null, device_type: 'ios' });
    const objectId = await push();
    start();
    const { counts } = await ended(objectId, 'done');
    expect(counts['ios']).toMatchObject({ targeted: 3, unreachable: 3 });
    expect(queues.received).toHaveLength(2);
    expect(await metrics.expose()).toMatch(
      /^gatepost_push_devices_total\{outcome="queued"\} 2\n.*outcome="unreachable"\} 3$/m,
    );
  });

  it('reports how many pushes are due, and how long those without flow control have been due', async () => {
    new PushGauge(new LanesRepository(database), metrics);
    const waiting = async () => {
      const text = await metrics.expose();
      return ['', '_oldest'].map((which) =>
        Number(new RegExp(`^gatepost_push${which}_waiting(?:_seconds)? ([\\d.]+)$`, 'm').exec(text)?.[1]),
      );
    };
    expect(await waiting()).toEqual([0, 0]);
    const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000);
    await push({ due_at: ago(2) });
    await push({ due_at: ago(30), flow_control: 1_000 });
    await push({ due_at: ago(60), status: 'done' });
    await push({ due_at: ago(1), status: 'scheduled', is_bulk: false });
    await push({ due_at: ago(-1), status: 'scheduled' });
    await eventually(async () => {
      expect(await waiting()).toEqual([3, expect.closeTo(120, -2)]);
    });
  });

  it('shares pushes with another dispatcher, and processes each once', async () => {
    const [id] = await install(1);
    const pushes = await Promise.all(
      Array.from({ length: 100 }, () => push({ is_bulk: false }, [{ installationId: id! }])),
    );
    start();
    start();
    for (const objectId of pushes) await ended(objectId, 'done');
    expect(queues.received).toHaveLength(100);
    expect(wakeUps.some(({ isRepeated }) => isRepeated)).toBe(false);
  });

  it('begins a scheduled push at its time, and not before', async () => {
    await install(1);
    const later = await push({ status: 'scheduled', due_at: new Date(Date.now() + 3_600_000) });
    const soon = await push({ status: 'scheduled', due_at: new Date(Date.now() + 300) });
    start();
    await ended(soon, 'done');
    expect((await stored(later)).status).toBe('scheduled');
  });

  it('processes a push to one device while large ones use all other slots', async () => {
    await install(1);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const large = new Set(await Promise.all([push(), push(), push(), push()]));
    queues.before = ({ message }) => (large.has(message.id) ? held : Promise.resolve());
    start();
    const single = await push({ is_bulk: false });
    await ended(single, 'done');
    for (const objectId of large) expect((await stored(objectId)).status).toBe('in-queue');
    release();
    for (const objectId of large) await ended(objectId, 'done');
  });

  it('waits while the queues are unavailable, and then continues', async () => {
    const ids = await install(3_000);
    let failures = 3;
    queues.before = () => {
      failures -= 1;
      return failures >= 0 ? Promise.reject(appError('SERVICE_UNAVAILABLE')) : Promise.resolve();
    };
    const objectId = await push();
    start();
    const row = await ended(objectId, 'done');
    expect(row.counts['web']).toMatchObject({ targeted: 3_000 });
    expect([...queues.received].sort()).toEqual([...ids].sort());
    expect(wakeUps[0]!.isRepeated).toBe(true);
    expect(wakeUps.at(-1)!.isRepeated).toBe(false);
  });

  it('releases a push when it stops, and another dispatcher continues it at once', async () => {
    const ids = await install(2_500);
    let pages = 0;
    const objectId = await push({ flow_control: 1_000 });
    const first = start({
      enqueue: (batch) => {
        pages += 1;
        return queues.enqueue(batch);
      },
    });
    await eventually(() => {
      expect(pages).toBeGreaterThan(10);
    });
    await first.beforeApplicationShutdown();
    expect((await stored(objectId)).status).toBe('in-queue');
    expect(queues.received.length).toBeLessThan(2_500);
    start();
    await ended(objectId, 'done');
    expect([...queues.received].sort()).toEqual([...ids].sort());
  });

  it('takes over from a dead dispatcher, whose later changes have no effect', async () => {
    const ids = await install(50);
    const objectId = await push();
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let isHeld = false;
    start({
      enqueue: async (batch) => {
        const devices = await queues.enqueue(batch);
        isHeld = true;
        await held;
        return devices;
      },
    });
    await eventually(() => {
      expect(isHeld).toBe(true);
    });
    await database.query('UPDATE push.notifications SET lease_until = now()');
    start();
    const { counts } = await ended(objectId, 'done');
    release();
    await dispatchers[0]!.beforeApplicationShutdown();
    expect((await stored(objectId)).counts).toEqual(counts);
    expect(counts['web']).toMatchObject({ targeted: 50 });
    expect([...queues.received].sort()).toEqual([...ids].sort());
    expect(wakeUps[0]!.isRepeated).toBe(true);
  });

  it('stops when the push is removed', async () => {
    await install(500);
    const objectId = await push();
    queues.before = async () => {
      await database.query('DELETE FROM push.notifications WHERE object_id = $1', [objectId]);
    };
    start();
    await eventually(() => {
      expect(queues.received).toHaveLength(200);
    });
    await dispatchers[0]!.beforeApplicationShutdown();
    expect(queues.received).toHaveLength(200);
  });

  it('ends a push that expires before it begins, with the reason', async () => {
    await install(1);
    const objectId = await push({ expires_at: new Date(Date.now() - 1) });
    start();
    expect((await ended(objectId, 'error')).error).toMatch(/expired/);
    expect(queues.received).toEqual([]);
  });

  it('ends an impossible push, with the reason', async () => {
    await install(1, { fields: { name: 'a' } });
    const objectId = await push({}, [{ name: { $regex: '(' } }]);
    start();
    expect((await ended(objectId, 'error')).error).not.toBe('');
  });

  it('retries after other errors, and gives up after five attempts', async () => {
    await install(1);
    queues.before = () => Promise.reject(new TypeError('a mistake of ours'));
    const objectId = await push();
    start();
    for (const failures of [1, 2, 3, 4]) {
      await eventually(async () => {
        expect(await stored(objectId)).toMatchObject({ failures, status: 'in-queue' });
      });
      await database.query('UPDATE push.notifications SET lease_until = now()');
    }
    expect((await ended(objectId, 'error')).error).toBe('Internal server error. See the server log for details.');
  });

  describe('keep the order of acceptance', () => {
    /** Delays a part of the operations, so that pushes that are processed at once pass each other. */
    const delayed = () => (Math.random() < 0.5 ? sleep(Math.random() * 10) : Promise.resolve());
    const small = (where: JsonObject[] = [], columns: Record<string, unknown> = {}) =>
      push({ is_bulk: false, ...columns }, where);
    const inOrder = (pushes: readonly string[], installationId: string) =>
      queues.sequences.get(installationId)?.filter((id) => pushes.includes(id));

    it('small pushes of any kind, with several dispatchers', async () => {
      const [first = ''] = await install(5, { fields: { channels: ['news'] } });
      const [other = ''] = await install(1, { prefix: 'other' });
      queues.before = delayed;
      for (let count = 0; count < 3; count += 1) start();
      const kinds = [[{ installationId: first }], [{ channels: 'news' }], []];
      const pushes: string[] = [];
      for (let place = 0; place < 60; place += 1) {
        pushes.push(await small(kinds[place % 3]));
        if (place % 7 === 0) for (const dispatcher of dispatchers) dispatcher.wake();
      }
      for (const objectId of pushes) await ended(objectId, 'done');
      expect(inOrder(pushes, first)).toEqual(pushes);
      expect(inOrder(pushes, other)).toEqual(pushes.filter((_, place) => place % 3 === 2));
      expect(wakeUps.map(({ message }) => message.id)).toEqual(pushes);
    });

    it('large pushes, which follow each other through the partitions', async () => {
      const ids = await install(4_000);
      queues.before = delayed;
      const pushes: string[] = [];
      for (let count = 0; count < 4; count += 1) pushes.push(await small());
      for (let count = 0; count < 3; count += 1) start();
      for (const objectId of pushes) await ended(objectId, 'done');
      for (const id of ids) expect(inOrder(pushes, id)).toEqual(pushes);
    });

    it('a small push overtakes a large one, and one with flow control delays no other', async () => {
      const [id = ''] = await install(2_100);
      let release: () => void = () => undefined;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const slow = await small([], { flow_control: 1_000 });
      const large = await small();
      queues.before = ({ message }) => (message.id === large ? held : Promise.resolve());
      start();
      const overtaking = await small([{ installationId: id }]);
      dispatchers[0]!.wake();
      await ended(overtaking, 'done');
      await ended(slow, 'done');
      expect((await stored(large)).status).toBe('in-queue');
      release();
      await ended(large, 'done');
    });

    it('pushes with flow control delay no other large one, however many they are', async () => {
      await install(5_000);
      const paced: string[] = [];
      for (let count = 0; count < 4; count += 1) paced.push(await push({ flow_control: 1_000 }));
      start();
      await eventually(() => {
        expect(queues.received.length).toBeGreaterThan(0);
      });
      await ended(await push(), 'done');
      for (const objectId of paced) expect((await stored(objectId)).status).toBe('in-queue');
    });

    it('sixteen busy applications do not hold up a further one', async () => {
      const busy = Array.from({ length: 16 }, (_, place) => `${appId}-${place}`);
      const quiet = `${appId}-quiet`;
      const ends: (() => void)[] = [];
      const held = [0, 1].map(() => new Promise<void>((resolve) => ends.push(resolve)));
      const rounds: string[][] = [[], []];
      const arrived = new Set<string>();
      queues.before = async ({ message }) => {
        arrived.add(message.id);
        await held[rounds.findIndex((round) => round.includes(message.id))];
      };
      for (const app of [...busy, quiet]) await install(1, { app_id: app });
      for (const app of busy) rounds[0]!.push(await small([], { app_id: app }));
      start();
      await eventually(() => {
        expect(arrived.size).toBe(busy.length);
      });
      const waiting = await small([], { app_id: quiet });
      for (const app of busy) rounds[1]!.push(await small([], { app_id: app }));
      await sleep(1_100);
      ends[0]!();
      await ended(waiting, 'done');
      for (const objectId of rounds[1]!) expect((await stored(objectId)).status).toBe('in-queue');
      ends[1]!();
      for (const objectId of rounds.flat()) await ended(objectId, 'done');
    });

    it('a push that fails does not delay the later ones', async () => {
      const [id = ''] = await install(1);
      const failing = await small([{ installationId: id }]);
      const later = await small([{ installationId: id }]);
      queues.before = ({ message }) =>
        message.id === failing ? Promise.reject(new TypeError('a mistake of ours')) : Promise.resolve();
      start();
      await ended(later, 'done');
      expect(await stored(failing)).toMatchObject({ status: 'in-queue', failures: 1 });
    });

    it('a push that is searched for too long is large, and does not delay the later ones', async () => {
      await install(1, { fields: { channels: ['news'] } });
      const slow = await small([{ channels: 'news' }]);
      await database.transaction(async (tx) => {
        await tx.query('LOCK TABLE push.installations IN ACCESS EXCLUSIVE MODE');
        start();
        await eventually(async () => {
          expect(await stored(slow)).toMatchObject({ is_bulk: true, status: 'in-queue' });
        });
      });
      await ended(slow, 'done');
    });

    it('the next holder of a lane repeats what a dead one has not finished, and then continues', async () => {
      const [id = ''] = await install(1);
      const pushes = [await small(), await small(), await small()];
      let isHeld = false;
      const dead = start({
        enqueue: async (batch) => {
          const devices = await queues.enqueue(batch);
          if (batch.message.id === pushes[1]) {
            isHeld = true;
            await new Promise((resolve) => setTimeout(resolve, 1_000));
          }
          return devices;
        },
      });
      await eventually(() => {
        expect(isHeld).toBe(true);
      });
      await database.query('UPDATE push.lanes SET lease_until = now()');
      start();
      for (const objectId of pushes) await ended(objectId, 'done');
      await dead.beforeApplicationShutdown();
      expect(inOrder(pushes, id)).toEqual(pushes);
      expect(wakeUps.slice(0, 3).map(({ message, isRepeated }) => [message.id, isRepeated])).toEqual(
        pushes.map((objectId) => [objectId, true]),
      );
    });

    it('a scheduled push counts from its time', async () => {
      const [id = ''] = await install(1);
      const unused = undefined as unknown as Repository<NotificationEntity>;
      const notifications = new NotificationsRepository(database, unused);
      const accept = async (dueAt: Date, status: NotificationStatus) => {
        const objectId: string = randomUUID();
        const now = new Date();
        const row = { requestId: null, appId, objectId, notificationId: null, target: { where: [] }, data: {} };
        const message = { body: '{}', bodies: {} };
        const times = { dueAt, expiresAt: new Date(now.getTime() + 3_600_000), createdAt: now };
        const push = { ...row, ...times, message, prod: 'prod', flowControl: null } as const;
        await database.transaction((tx) => notifications.add(tx, push, status));
        return objectId;
      };
      const second = await accept(new Date(Date.now() + 200), 'scheduled');
      const first = await accept(new Date(), 'in-queue');
      await sleep(300);
      const third = await accept(new Date(), 'in-queue');
      start();
      await ended(third, 'done');
      expect(queues.sequences.get(id)).toEqual([first, second, third]);
    });
  });
});

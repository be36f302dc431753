import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Clock } from '#bootstrap';
import { connectorMessages, type DirectMessagePayload } from '#contracts';
import { directMessageHandler, DirectMessages, RabbitTransport } from '#messaging';
import { Metrics } from '#observability';
import { Redis } from '#redis';
import { eventually, newNamespace, TcpProxy, testRun } from '#testing';
import { partitionOf } from '../src/device-queues/device-queues.js';
import { RedisDeviceQueues } from '../src/device-queues/redis-device-queues.store.js';
import { RedisConnectorNodes } from '../src/device-queues/redis-sessions.store.js';
import type { VendorDispatch } from '../src/dispatch/installation-scan.js';
import { LanesRepository } from '../src/dispatch/lanes.repository.js';
import { PushDelivery } from '../src/dispatch/push-delivery.js';
import { PushDispatcher } from '../src/dispatch/push-dispatcher.js';
import { PushJobsRepository } from '../src/dispatch/push-jobs.repository.js';
import { InstallationScanRepository } from '../src/installations/installations.repository.js';
import type { PushDatabase } from '../src/push-delivery.database.js';
import type { VendorCredentialsService } from '../src/vendors/vendor-credentials.service.js';
import { openPushDatabase } from './push-database.js';

const DEVICES = 300;

describe('a dispatcher with PostgreSQL, Redis and RabbitMQ', () => {
  let database: PushDatabase;
  let redis: Redis;
  let broker: TcpProxy;
  let sending: RabbitTransport;
  let receiving: RabbitTransport;
  let queues: RedisDeviceQueues;
  let dispatcher: PushDispatcher;
  let appId: string;
  let node: string;
  let wakeUps: DirectMessagePayload<typeof connectorMessages.deliver>['wakeUps'];

  const idOf = (index: number) => `device-${index}`;
  const install = () =>
    database.query(
      `INSERT INTO push.installations (app_id, object_id, partition, installation_id, device_type, created_at, updated_at)
       SELECT $1, id, partition, id, 'web', now(), now() FROM jsonb_to_recordset($2::jsonb) AS d (id text, partition smallint)`,
      [appId, JSON.stringify(Array.from({ length: DEVICES }, (_, index) => placeOf(index)))],
    );
  const placeOf = (index: number) => ({
    id: idOf(index),
    partition: partitionOf({ appId, installationId: idOf(index) }),
  });
  const push = async () => {
    const objectId: string = randomUUID();
    await database.query(
      `INSERT INTO push.notifications
         (app_id, object_id, status, is_bulk, target, data, message, prod, due_at, expires_at, created_at, updated_at)
       VALUES ($1, $2, 'in-queue', false, '{"where":[]}', '{}', '{"body":"{}","bodies":{}}', 'prod', now(), now() + interval '1 hour',
               now(), now())`,
      [appId, objectId],
    );
    dispatcher.wake();
    return objectId;
  };
  const newDelivery = () =>
    new PushDelivery(queues, new DirectMessages(sending), new RedisConnectorNodes(redis, 60_000));
  const newDispatcher = () => {
    const [lanes, jobs] = [new LanesRepository(database), new PushJobsRepository(database)];
    const [scan, delivery] = [new InstallationScanRepository(database), newDelivery()];
    const vendors: VendorDispatch = { channelsOf: () => Promise.resolve([]), batchesAdded: () => undefined };
    const known = vendors as VendorCredentialsService;
    const started = new PushDispatcher(lanes, jobs, scan, delivery, known, new Clock(), new Metrics());
    started.onApplicationBootstrap();
    return started;
  };
  const statusOf = async (objectId: string) => {
    const [row] = await database.query<{ status: string }>(
      'SELECT status FROM push.notifications WHERE object_id = $1',
      [objectId],
    );
    return row?.status;
  };
  const isDone = (objectId: string) =>
    eventually(async () => {
      expect(await statusOf(objectId)).toBe('done');
    }, 20_000);
  /** The installations that wake-ups of the push named, with repetitions. */
  const notified = (objectId: string) =>
    wakeUps
      .filter(({ message }) => message.id === objectId)
      .flatMap(({ targets }) => targets.flatMap(([, ids]) => ids));

  beforeAll(async () => {
    const namespace = newNamespace();
    database = await openPushDatabase(8);
    redis = new Redis({ url: testRun().redisUrl, namespace, connectionName: 'test' });
    broker = await TcpProxy.to(new URL(testRun().amqpUrl), 5672);
    const rabbit = { namespace, connectionName: 'gatepost-test' };
    sending = new RabbitTransport({ ...rabbit, url: broker.urlFor(testRun().amqpUrl) });
    receiving = new RabbitTransport({ ...rabbit, url: testRun().amqpUrl });
    queues = new RedisDeviceQueues(redis, { queueLimit: 100, conflictMs: 60_000 });
    await eventually(() => redis.ping());
  });
  afterAll(async () => {
    await sending.close();
    await receiving.close();
    await broker.close();
    redis.close();
    await database.close();
  });
  beforeEach(async () => {
    [appId, node, wakeUps] = [randomUUID(), randomUUID(), []];
    await install();
    const connectors = new RedisConnectorNodes(redis, 60_000);
    await connectors.beat({ id: node, port: 1 });
    const hear = directMessageHandler(connectorMessages.deliver, (notification) => {
      wakeUps.push(...notification.wakeUps);
    });
    new DirectMessages(receiving).receiveAs(node, [hear], () => undefined);
    await eventually(() => {
      expect([sending.isConnected(), receiving.isConnected()]).toEqual([true, true]);
    });
    for (let index = 0; index < 100; index += 1)
      await queues.connect({ appId, installationId: idOf(index) }, { node, session: 's' }, 10);
    dispatcher = newDispatcher();
  });
  afterEach(async () => {
    broker.bringBack();
    await dispatcher.beforeApplicationShutdown();
    await database.query('TRUNCATE push.installations, push.notifications, push.lanes CASCADE');
  });

  it('adds a push to every queue, and wakes the connector with one message per page', async () => {
    const objectId = await push();
    await isDone(objectId);
    await eventually(() => {
      expect(notified(objectId).sort()).toEqual(Array.from({ length: 100 }, (_, index) => idOf(index)).sort());
    });
    expect(wakeUps.length).toBeLessThanOrEqual(2);
    expect(wakeUps.every(({ isRepeated }) => !isRepeated)).toBe(true);
    for (const index of [0, 99, 100, 299]) {
      const { refs } = await queues.peek({ appId, installationId: idOf(index) }, 10);
      expect(refs).toMatchObject([{ id: objectId, platform: 'web' }]);
    }
    const [statistics] = await queues.statistics([{ appId, id: objectId }]);
    expect(statistics?.get('web')).toEqual({ enqueued: DEVICES, acknowledged: 0, overflowed: 0 });
  });

  it('waits while the broker is unavailable, and then notifies all devices', async () => {
    broker.takeAway();
    await eventually(() => {
      expect(sending.isConnected()).toBe(false);
    });
    const objectId = await push();
    await eventually(async () => {
      expect((await queues.statistics([{ appId, id: objectId }]))[0]?.get('web')?.enqueued).toBeGreaterThan(0);
    });
    expect([await statusOf(objectId), notified(objectId)]).toEqual(['in-queue', []]);
    broker.bringBack();
    await isDone(objectId);
    await eventually(() => {
      expect(new Set(notified(objectId)).size).toBe(100);
    });
    expect((await queues.statistics([{ appId, id: objectId }]))[0]?.get('web')?.enqueued).toBe(DEVICES);
  });

  it('notifies devices that a dead dispatcher had enqueued but not notified, and enqueues nothing twice', async () => {
    await dispatcher.beforeApplicationShutdown();
    const objectId = await push();
    const lanes = new LanesRepository(database);
    const { claimed } = await lanes.claim(1, 'of the dead one');
    const [job] = await lanes.findPushes(claimed[0]!, 1);
    await database.query('UPDATE push.lanes SET lease_until = now()');
    const { partition } = placeOf(0);
    const device = { installationId: idOf(0), objectId: idOf(0), deviceType: 'web', partition };
    await newDelivery().enqueue(job!, [device], false);
    dispatcher = newDispatcher();
    await isDone(objectId);
    await eventually(() => {
      expect(notified(objectId)).toContain(idOf(0));
    });
    expect(wakeUps.find(({ targets }) => targets.some(([, ids]) => ids.includes(idOf(0))))?.isRepeated).toBe(true);
    expect((await queues.peek({ appId, installationId: idOf(0) }, 10)).refs).toHaveLength(1);
  });
});

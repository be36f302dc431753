import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Redis } from '#redis';
import {
  appClient,
  eventually,
  type GatepostServer,
  masterClient,
  newNamespace,
  RedisGroup,
  signUp,
  startServices,
  unique,
} from '#testing';
import { LOCKOUT_LIMITS } from '../../apps/accounts/src/lockout/lockout.rules.js';
import { RedisLockoutStore } from '../../apps/accounts/src/lockout/redis-lockout.store.js';
import { describeLockout } from '../../apps/accounts/test/lockout.suite.js';
import { RedisRequestCounter } from '../../apps/gateway/src/rate-limits/redis-request-counter.store.js';
import { partitionOf } from '../../apps/push-delivery/src/device-queues/device-queues.js';
import { RedisDeviceQueues } from '../../apps/push-delivery/src/device-queues/redis-device-queues.store.js';
import { RedisConnectorNodes } from '../../apps/push-delivery/src/device-queues/redis-sessions.store.js';
import { Connectors } from '../../apps/push-delivery/test/connectors.js';
import { QUEUE_LIMIT } from '../../apps/push-delivery/test/queue-stores.js';
import { describeQueues } from '../../apps/push-delivery/test/queues.suite.js';
import { describeSessions } from '../../apps/push-delivery/test/sessions.suite.js';
import { DeviceFleet } from '../load/device-fleet.js';

const START_MS = 90_000;
const RECOVERY_MS = 60_000;
const DEVICES = 200;
const QUEUE_LIMITS = { queueLimit: QUEUE_LIMIT, conflictMs: 60_000 };

/** The product's data in Redis, on three masters and a replica; then a master is killed. */
describe('on a cluster of Redis', () => {
  const namespace = newNamespace();
  let group: RedisGroup;
  let redis: Redis;

  beforeAll(async () => {
    group = await RedisGroup.cluster({ hasReplica: true });
    redis = new Redis({ url: group.url, namespace, connectionName: 'test' });
    await eventually(() => redis.ping(), START_MS);
  }, START_MS);
  afterAll(async () => {
    redis.close();
    await group.stop();
  });

  describeLockout({
    name: 'a cluster',
    open: (limits) => new RedisLockoutStore(redis, limits),
    rowsOf: async (appId) => (await group.keys(`${namespace}:lockout:*{${appId}}*`)).length,
  });
  const queues = {
    name: 'a cluster',
    open: (limits: object = {}) => new RedisDeviceQueues(redis, { ...QUEUE_LIMITS, ...limits }),
    left: async (appId: string) => (await group.keys(`${namespace}:push:{*}:queue:${appId}:*`)).length,
  };
  describeQueues(queues);
  describeSessions(queues);

  it('counts each of parallel requests', async () => {
    const [counter, key] = [new RedisRequestCounter(redis), unique('key')];
    const counts = await Promise.all(Array.from({ length: 100 }, () => counter.count(key, 60)));
    expect(Math.max(...counts.map(({ count }) => count))).toBe(100);
  });

  it('lists the connectors that live', async () => {
    const [nodes, node] = [new RedisConnectorNodes(redis, 60_000), { id: unique('node'), port: 4_001 }];
    expect(await nodes.beat(node)).toBe(await nodes.beat(node));
    expect(await nodes.live()).toEqual([node]);
    await nodes.leave(node.id);
    expect(await nodes.reapExpired()).toEqual([node.id]);
    await nodes.acknowledgeReaped([node.id]);
  });

  it('keeps devices waiting only where the slot of their partition moves', async () => {
    const connectors = new Connectors();
    await connectors.start(group.url);
    const address = connectors.newAddress();
    let other = connectors.newAddress();
    while (partitionOf(other) === partitionOf(address)) other = connectors.newAddress();
    const device = await connectors.logIn(address, { acknowledges: false });
    await connectors.push([address]);
    const ids = await device.untilReceived(1);
    const end = await group.moveSlot(`{${partitionOf(address)}}`);
    device.acknowledge(ids);
    await device.roundTrip();
    const late = await connectors.open();
    late.say({ cmd: 'login', ...address });
    const { id } = await connectors.push([other]);
    expect(await (await connectors.logIn(other)).untilReceived(1)).toEqual([id]);
    await connectors.untilEmpty(other);
    expect(late.frames).toEqual([]);
    await end();
    await late.untilTold('loggedin');
    await connectors.untilEmpty(address);
    await connectors.stop();
  });

  describe('the services', () => {
    let server: GatepostServer;
    let fleet: DeviceFleet;

    beforeAll(async () => {
      server = await startServices({ gateway: 1, accounts: 1, 'push-delivery': 1 }, { REDIS_URL: group.url });
      const { id: appId, appKey } = server.app;
      fleet = new DeviceFleet({ server: server.baseUrls[0] ?? '', appId, appKey, size: DEVICES });
      await fleet.start();
    }, START_MS);
    afterAll(async () => {
      await fleet.stop();
      await server.stop();
    });

    const send = async (text: string) => {
      const { status, body } = await masterClient(server).post('/1.1/push', {
        channels: ['fleet'],
        data: { alert: text },
      });
      expect(status).toBe(200);
      return String(body['objectId']);
    };
    const expectEachOnce = async (push: string) => {
      await eventually(() => {
        expect(fleet.reached(push)).toBe(DEVICES);
      }, RECOVERY_MS);
      expect(fleet.repeated(push)).toBe(0);
    };
    /** Logs in as a new user, after a wrong password until the name is locked. */
    const expectLockout = async () => {
      const api = appClient(server).acceptingUnavailable();
      const { username, password } = await signUp(api);
      const logIn = async (word: string) => (await api.post('/1.1/login', { username, password: word })).body['code'];
      await eventually(async () => {
        expect(await logIn(password)).toBeUndefined();
      }, RECOVERY_MS);
      for (let count = 0; count < LOCKOUT_LIMITS.lockingFailure; count += 1) await logIn('wrong');
      expect(await logIn(password)).toBe(219);
    };

    it('lock, and push to devices', async () => {
      await expectLockout();
      await expectEachOnce(await send('calm'));
    });

    it('go on by themselves when a master is killed', { timeout: 2 * RECOVERY_MS }, async () => {
      group.crash(0);
      // Accepted at once, and delivered when the replica has taken over.
      const push = await send('failover');
      await expectEachOnce(push);
      await expectLockout();
      await eventually(() => redis.ping(), RECOVERY_MS);
    });
  });
});

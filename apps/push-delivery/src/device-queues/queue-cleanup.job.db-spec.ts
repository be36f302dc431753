import { describe, expect, it } from 'vitest';
import { Metrics } from '#observability';
import { isProvided } from '#testing';
import { useQueueStores } from '../../test/queue-stores.js';
import { QueueUser } from '../../test/queue-user.js';
import { type ConnectorNodes, MemoryConnectorNodes } from './connector-nodes.js';
import type { DeviceQueues } from './device-queues.js';
import { QueueCleanupJob } from './device-queues.module.js';
import { RedisConnectorNodes } from './redis-sessions.store.js';

const LEASE_MS = 10_000;
const { stores, redis } = useQueueStores();

describe('the cleanup of queues', () => {
  const storeOf = (wanted: string) => stores.find(({ name }) => name === wanted)!;
  const processAll = async (queues: DeviceQueues, nodes: ConnectorNodes) => {
    const job = new QueueCleanupJob(queues, nodes, new Metrics());
    while (await job.processBatch());
  };

  it.runIf(isProvided('redis'))('ends the sessions of dead connectors only', async () => {
    const user = new QueueUser(storeOf('Redis').open());
    const nodes = new RedisConnectorNodes(redis(), LEASE_MS * 10);
    for (const id of ['dead', 'alive']) {
      await nodes.beat({ id, port: 1 });
      await user.queues.connect(user.newDevice(), user.newSession(id), 1);
    }
    await nodes.leave('dead');
    await processAll(user.queues, nodes);
    expect(await user.queues.countConnected(user.appId)).toBe(1);
    expect(await nodes.reapExpired()).toEqual([]);
    expect(await nodes.live()).toEqual([{ id: 'alive', port: 1 }]);
  });

  it('deletes expired data', async () => {
    const { open, left } = storeOf('PostgreSQL');
    const user = new QueueUser(open());
    await user.enqueue(user.newMessage({ expiresAt: Date.now() - 1 }), [user.newDevice()]);
    await user.enqueue(user.newMessage(), [user.newDevice()]);
    expect(await left(user.appId)).toBe(3);
    await processAll(user.queues, new MemoryConnectorNodes(LEASE_MS));
    expect(await left(user.appId)).toBe(2);
  });
});

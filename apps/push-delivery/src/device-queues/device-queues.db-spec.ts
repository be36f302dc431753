import { describe, expect, it } from 'vitest';
import { RedisScript } from '#redis';
import { isProvided } from '#testing';
import { QUEUE_LIMIT, useQueueStores } from '../../test/queue-stores.js';
import { QueueUser } from '../../test/queue-user.js';
import { describeQueues } from '../../test/queues.suite.js';
import { partitionOf } from './device-queues.js';

const PAGE = 50;
const SHORT_MS = 1_000;
const { stores, redis } = useQueueStores();

for (const store of stores) describeQueues(store);

describe.runIf(isProvided('redis'))('messages whose bodies Redis has lost', () => {
  const store = () => stores.find(({ name }) => name === 'Redis')!;

  it('leave their queue, once, as those that a full queue drops', async () => {
    const user = new QueueUser(store().open());
    const [device, lost, kept] = [user.newDevice(), user.newMessage(), user.newMessage()];
    for (const message of [lost, kept]) await user.enqueue(message, [device]);
    const { refs } = await user.queues.peek(device, 1);
    for (let count = 0; count < 2; count += 1) await user.queues.discard(device, refs);
    expect(await user.statisticsOf(lost)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 1 });
    expect(await user.queues.peek(device, PAGE)).toMatchObject({ refs: [{ id: kept.id }], dropped: 1 });
  });

  it('leave no data behind that does not expire', async () => {
    const user = new QueueUser(store().open());
    const device = user.newDevice();
    await user.enqueue(user.newMessage({ expiresAt: Date.now() + SHORT_MS }), [device]);
    await user.queues.discard(device, (await user.queues.peek(device, PAGE)).refs);
    expect(await store().left(user.appId)).toBe(1);
    await expect.poll(() => store().left(user.appId)).toBe(0);
  });
});

it.runIf(isProvided('redis'))('drops that an earlier version has counted in Redis are reported', async () => {
  const user = new QueueUser(stores.find(({ name }) => name === 'Redis')!.open());
  const device = user.newDevice();
  for (let count = 0; count < QUEUE_LIMIT; count += 1) await user.enqueue(user.newMessage(), [device]);
  const key = `push:{${partitionOf(device)}}:queue:${user.appId}:${device.installationId}`;
  await redis().run(new RedisScript("redis.call('ZADD', KEYS[1], -3, 'dropped')"), [key], []);
  expect(await user.queues.peek(device, PAGE)).toMatchObject({ dropped: 3, droppedUpTo: 3 });
  await user.enqueue(user.newMessage(), [device]);
  for (let count = 0; count < 2; count += 1) await user.acknowledge(device, [], 3);
  expect(await user.queues.peek(device, PAGE)).toMatchObject({ dropped: 1, droppedUpTo: 4 });
});

import { describe, expect, it } from 'vitest';
import { isProvided } from '#testing';
import { describeQueues } from '../../test/queues.suite.js';
import { useQueueStores } from '../../test/queue-stores.js';
import { QueueUser } from '../../test/queue-user.js';

const PAGE = 50;
const SHORT_MS = 1_000;
const { stores } = useQueueStores();

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

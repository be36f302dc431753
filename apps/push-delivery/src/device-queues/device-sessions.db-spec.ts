import { describe, expect, it } from 'vitest';
import { useQueueStores } from '../../test/queue-stores.js';
import { QueueUser } from '../../test/queue-user.js';
import { describeSessions } from '../../test/sessions.suite.js';

const PAGE = 50;
const { stores } = useQueueStores();

for (const store of stores) describeSessions(store);

describe('the queues of a standalone server', () => {
  it('survive a restart, and its sessions do not', async () => {
    const open = stores.find(({ name }) => name === 'PostgreSQL')!.open;
    const before = new QueueUser(open());
    const [device, message] = [before.newDevice(), before.newMessage()];
    await before.queues.connect(device, before.newSession(), PAGE);
    await before.enqueue(message, [device]);
    const after = new QueueUser(open());
    expect(await after.idsIn(device)).toEqual([message.id]);
    expect(await after.queues.countConnected(before.appId)).toBe(0);
    expect(await after.queues.messages([message.id])[0]).toEqual(message);
  });
});

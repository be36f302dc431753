import { beforeEach, describe, expect, it } from 'vitest';
import { eventually, unique } from '#testing';
import type { DeviceAddress, DeviceQueues } from '../src/device-queues/device-queues.js';
import { QUEUE_LIMIT, type QueueStore } from './queue-stores.js';
import { QueueUser } from './queue-user.js';

/** Long enough for what a test does within it on a busy machine. */
const SHORT_MS = 1_000;
const PAGE = 50;

/** The contract of every store of queues. */
export function describeQueues({ name, open, left }: QueueStore): void {
  describe(`the queues of devices in ${name}`, () => {
    let user: QueueUser;
    let queues: DeviceQueues;
    let appId: string;
    let device: DeviceAddress;

    beforeEach(() => {
      queues = open();
      user = new QueueUser(queues);
      ({ appId } = user);
      device = user.newDevice();
    });

    it('keeps messages in the order of their pushes until they are acknowledged', async () => {
      const [first, second, third] = [user.newMessage(), user.newMessage(), user.newMessage()];
      for (const message of [second, third, first]) await user.enqueue(message, [device]);
      expect(await user.idsIn(device)).toEqual([first.id, second.id, third.id]);
      await user.acknowledge(device, [second.id]);
      expect(await user.idsIn(device)).toEqual([first.id, third.id]);
      await user.acknowledge(device, [first.id, third.id]);
      expect(await queues.peek(device, PAGE)).toEqual({ refs: [], hasMore: false, dropped: 0 });
      expect(await user.tallyOf(third)).toEqual({ enqueued: 1, acknowledged: 1, overflowed: 0 });
      expect(await left(appId)).toBeLessThanOrEqual(3);
    });

    it('shows a page, and whether there is more', async () => {
      const messages = Array.from({ length: QUEUE_LIMIT }, () => user.newMessage());
      for (const message of messages) await user.enqueue(message, [device]);
      const page = await queues.peek(device, QUEUE_LIMIT - 1);
      expect(page).toMatchObject({ hasMore: true, dropped: 0 });
      expect(page.refs).toEqual(messages.slice(0, -1).map(({ id }) => ({ id, platform: 'android' })));
      expect(await queues.peek(device, QUEUE_LIMIT)).toMatchObject({ hasMore: false });
      expect((await queues.connect(device, user.newSession(), 1)).page).toMatchObject({
        hasMore: true,
        refs: [page.refs[0]],
      });
    });

    it('says where connected devices are, and nothing of others', async () => {
      const away = user.newDevice();
      await queues.connect(device, user.newSession('node-7'), PAGE);
      expect(await user.enqueue(user.newMessage(), [device, away])).toEqual([
        { installationId: device.installationId, platform: 'android', node: 'node-7' },
      ]);
    });

    it('gives the bodies of messages that have not expired', async () => {
      const [message, short] = [user.newMessage(), user.newMessage({ expiresAt: Date.now() + SHORT_MS })];
      await user.enqueue(message, [device]);
      await user.enqueue(short, [device]);
      expect(await queues.messages([user.newId(), message.id])).toEqual([message]);
      await eventually(async () => {
        expect(await queues.messages([short.id, message.id])).toEqual([message]);
      });
      expect(await queues.messages([])).toEqual([]);
    });

    it('takes a batch again without enqueuing again, and tells of devices that still have the message', async () => {
      const { partition, devices } = user.manyDevices(6);
      const message = user.newMessage();
      for (const one of devices) await queues.connect({ appId, ...one }, user.newSession(), PAGE);
      expect(await queues.enqueue({ message, partition, devices: devices.slice(0, 4) })).toHaveLength(4);
      await user.acknowledge({ appId, ...devices[1]! }, [message.id]);
      const told = await queues.enqueue({ message, partition, devices });
      expect(told.map(({ installationId }) => installationId)).toEqual(
        [0, 2, 3, 4, 5].map((place) => devices[place]!.installationId),
      );
      expect(await user.tallyOf(message)).toEqual({ enqueued: 6, acknowledged: 1, overflowed: 0 });
      expect(await user.idsIn({ appId, ...devices[1]! })).toEqual([]);
      expect(await queues.enqueue({ message, partition, devices: [] })).toEqual([]);
    });

    it('passes over what was enqueued by the bytes of positions, whatever ids are made of', async () => {
      const positions = ['-a', '0', '09', 'A', 'Z', '_b', 'a', 'aB', 'a_', 'ab', 'z', 'zz'];
      const { partition, devices } = user.manyDevices(positions.length);
      const placed = devices.map((target, place) => ({ ...target, position: positions[place]! }));
      const message = user.newMessage();
      for (let end = 1; end <= placed.length; end += 1)
        await queues.enqueue({ message, partition, devices: placed.slice(Math.max(0, end - 3), end) });
      expect(await user.tallyOf(message)).toEqual({ enqueued: positions.length, acknowledged: 0, overflowed: 0 });
      for (const target of placed) expect(await user.idsIn({ appId, ...target })).toEqual([message.id]);
      await queues.forget(message);
      expect(await queues.enqueue({ message, partition, devices: placed.slice(-1) })).toEqual([]);
      expect(await user.tallyOf(message)).toBeUndefined();
    });

    it('enqueues once where two work on the same batch', async () => {
      const { partition, devices } = user.manyDevices(50);
      const message = user.newMessage();
      const batch = { message, partition, devices };
      await Promise.all([queues.enqueue(batch), queues.enqueue(batch), queues.enqueue(batch)]);
      expect(await user.tallyOf(message)).toEqual({ enqueued: 50, acknowledged: 0, overflowed: 0 });
    });

    it('takes more devices than one move', async () => {
      const { partition, devices } = user.manyDevices(1_200);
      const message = user.newMessage();
      await queues.connect({ appId, ...devices.at(-1)! }, user.newSession('node-1'), PAGE);
      expect(await queues.enqueue({ message, partition, devices })).toEqual([
        { installationId: devices.at(-1)!.installationId, platform: 'android', node: 'node-1' },
      ]);
      expect(await user.tallyOf(message)).toEqual({ enqueued: 1_200, acknowledged: 0, overflowed: 0 });
    });

    it('drops the oldest of a full queue, counts it for its own push, and keeps it to be told', async () => {
      const messages = Array.from({ length: QUEUE_LIMIT + 2 }, () => user.newMessage());
      for (const message of messages) await user.enqueue(message, [device]);
      const [first, second, third] = messages;
      expect(await user.tallyOf(first!)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 1 });
      expect(await user.tallyOf(second!)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 1 });
      expect(await user.tallyOf(third!)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 0 });
      expect(await queues.peek(device, PAGE)).toMatchObject({ hasMore: false, dropped: 2 });
      expect(await user.idsIn(device)).toEqual(messages.slice(2).map(({ id }) => id));
      await user.acknowledge(device, [first!.id], 1);
      expect((await queues.connect(device, user.newSession(), PAGE)).page.dropped).toBe(1);
      expect((await user.tallyOf(first!))?.acknowledged).toBe(0);
      await user.acknowledge(device, [], 5);
      expect((await queues.peek(device, PAGE)).dropped).toBe(0);
    });

    it('drops a message at once that is older than all in a full queue, and tells nobody of it', async () => {
      const old = user.newMessage();
      await queues.connect(device, user.newSession(), PAGE);
      for (let count = 0; count < QUEUE_LIMIT; count += 1) await user.enqueue(user.newMessage(), [device]);
      expect(await user.enqueue(old, [device])).toEqual([]);
      expect(await user.tallyOf(old)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 1 });
      expect(await user.idsIn(device)).not.toContain(old.id);
    });

    it('lets what has expired make room first, and does not count it as dropped', async () => {
      const short = user.newMessage({ expiresAt: Date.now() + SHORT_MS });
      const kept = Array.from({ length: QUEUE_LIMIT - 1 }, () => user.newMessage());
      for (const message of [...kept, short]) await user.enqueue(message, [device]);
      await eventually(async () => {
        expect(await queues.messages([short.id])).toEqual([]);
      });
      const last = user.newMessage();
      await user.enqueue(last, [device]);
      expect(await user.idsIn(device)).toEqual([...kept, last].map(({ id }) => id));
      expect(await user.tallyOf(short)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 0 });
      expect((await queues.peek(device, PAGE)).dropped).toBe(0);
    });

    it('shows nothing of what has expired, however much of it stands first', async () => {
      const short = Array.from({ length: QUEUE_LIMIT - 1 }, () =>
        user.newMessage({ expiresAt: Date.now() + SHORT_MS }),
      );
      const long = user.newMessage();
      for (const message of [...short, long]) await user.enqueue(message, [device]);
      await eventually(async () => {
        expect(await queues.peek(device, 1)).toEqual({
          refs: [{ id: long.id, platform: 'android' }],
          hasMore: false,
          dropped: 0,
        });
      });
    });

    it('counts a message that has expired on its way, and queues it nowhere', async () => {
      const late = user.newMessage({ expiresAt: Date.now() - 1_000 });
      await queues.connect(device, user.newSession(), PAGE);
      expect(await user.enqueue(late, [device])).toEqual([]);
      expect(await user.tallyOf(late)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 0 });
      expect([await user.idsIn(device), await queues.messages([late.id])]).toEqual([[], []]);
    });

    it('counts acknowledgements of unknown, foreign and repeated ids not at all', async () => {
      const [message, foreign] = [user.newMessage(), user.newMessage()];
      const other = user.newDevice();
      await user.enqueue(message, [device, other]);
      await user.enqueue(foreign, [other]);
      await Promise.all(Array.from({ length: 10 }, () => user.acknowledge(device, [message.id, message.id])));
      await user.acknowledge(device, [foreign.id, user.newId(), '', 'dropped', '%', '(']);
      await queues.acknowledge([]);
      expect(await user.tallyOf(message)).toEqual({ enqueued: 2, acknowledged: 1, overflowed: 0 });
      expect(await user.tallyOf(foreign)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 0 });
      expect(await user.idsIn(other)).toEqual([message.id, foreign.id]);
    });

    it('takes acknowledgements of many devices together', async () => {
      const devices = Array.from({ length: 100 }, () => user.newDevice());
      const message = user.newMessage();
      await user.enqueue(message, devices);
      const refs = [{ id: message.id, platform: 'android' }];
      await queues.acknowledge(devices.map((one) => ({ device: one, refs, droppedTold: 0 })));
      expect(await user.tallyOf(message)).toEqual({ enqueued: 100, acknowledged: 100, overflowed: 0 });
    });

    it('counts each platform apart, whatever it is called', async () => {
      const message = user.newMessage();
      const platforms = ['ios', 'android', 'a b:c', '名前', '__proto__', 'mark'];
      for (const platform of platforms) {
        const one = user.newDevice();
        await user.enqueue(message, [one], platform);
        expect((await queues.peek(one, PAGE)).refs).toEqual([{ id: message.id, platform }]);
        await user.acknowledge(one, platform === 'ios' ? [] : [message.id]);
      }
      const tally = await queues.tally(message);
      expect([...tally.keys()].sort()).toEqual([...platforms].sort());
      expect(tally.get('ios')).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 0 });
      expect(tally.get('a b:c')).toEqual({ enqueued: 1, acknowledged: 1, overflowed: 0 });
    });

    it('forgets how a push stands, and counts nothing for it afterwards', async () => {
      const messages = Array.from({ length: QUEUE_LIMIT }, () => user.newMessage());
      for (const message of messages) await user.enqueue(message, [device]);
      for (const message of messages) await queues.forget(message);
      await user.enqueue(user.newMessage(), [device]);
      await user.acknowledge(device, [messages[1]!.id]);
      for (const message of messages) expect(await queues.tally(message)).toEqual(new Map());
      expect(await user.idsIn(device)).toHaveLength(QUEUE_LIMIT - 1);
    });

    it('passes over a batch that comes after the push was forgotten', async () => {
      const { partition, devices } = user.manyDevices(3);
      const message = user.newMessage();
      await queues.enqueue({ message, partition, devices: devices.slice(0, 2) });
      await user.acknowledge({ appId, ...devices[0]! }, [message.id]);
      await queues.forget(message);
      await queues.enqueue({ message, partition, devices });
      expect([await user.idsIn({ appId, ...devices[0]! }), await queues.tally(message)]).toEqual([[], new Map()]);
      expect(await user.idsIn({ appId, ...devices[1]! })).toEqual([message.id]);
    });

    it('forgets what waits for a device, and what it was to be told', async () => {
      const other = user.newDevice();
      for (let count = 0; count <= QUEUE_LIMIT; count += 1) await user.enqueue(user.newMessage(), [device, other]);
      await queues.clear([device]);
      await queues.clear([]);
      expect(await queues.peek(device, PAGE)).toEqual({ refs: [], hasMore: false, dropped: 0 });
      expect(await queues.peek(other, PAGE)).toMatchObject({ dropped: 1 });
    });

    it('keeps nothing of what has expired', async () => {
      for (let count = 0; count <= QUEUE_LIMIT; count += 1)
        await user.enqueue(user.newMessage({ expiresAt: Date.now() + SHORT_MS }), [device, user.newDevice()]);
      expect(await left(appId)).toBeGreaterThan(0);
      await eventually(async () => {
        while (await queues.removeExpired());
        expect(await left(appId)).toBe(0);
      });
    });

    it('keeps a queue as long as its longest message, whichever came last', async () => {
      const [long, short] = [user.newMessage(), user.newMessage({ expiresAt: Date.now() + SHORT_MS })];
      await user.enqueue(long, [device]);
      await user.enqueue(short, [device]);
      await eventually(async () => {
        while (await queues.removeExpired());
        expect(await queues.messages([short.id])).toEqual([]);
      });
      expect(await user.idsIn(device)).toEqual([long.id]);
    });

    it.each([
      ['a:b'],
      ['{1}'],
      ['}'],
      ["'; DROP TABLE push.queued_messages; --"],
      ['__proto__'],
      ['a b'],
      ['名前'],
      ['*'],
    ])('knows devices apart, whatever their ids are: %j', async (installationId) => {
      const [one, other] = [
        { appId, installationId },
        { appId: unique('app'), installationId },
      ];
      const message = user.newMessage();
      const itsSession = user.newSession();
      await queues.connect(one, itsSession, PAGE);
      expect(await user.enqueue(message, [one])).toEqual([{ installationId, platform: 'android', node: 'node-1' }]);
      expect([await user.idsIn(one), await user.idsIn(other), await user.idsIn(device)]).toEqual([
        [message.id],
        [],
        [],
      ]);
      expect((await queues.connect(one, user.newSession(), PAGE)).previous).toEqual(itsSession);
      expect((await queues.connect(other, user.newSession(), PAGE)).previous).toBeUndefined();
    });
  });
}

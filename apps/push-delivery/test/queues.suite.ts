import { beforeEach, describe, expect, it } from 'vitest';
import { eventually, unique } from '#testing';
import type { DeviceAddress, DeviceQueues, QueueStatistics } from '../src/device-queues/device-queues.js';
import { QUEUE_LIMIT, type QueueStore } from './queue-stores.js';
import { QueueUser } from './queue-user.js';

/** Long enough for one test on a busy machine. */
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
    const messages = (...ids: string[]) => Promise.all(queues.messages(ids));

    it('keeps messages in the order of their pushes until they are acknowledged', async () => {
      const [first, second, third] = [user.newMessage(), user.newMessage(), user.newMessage()];
      for (const message of [second, third, first]) await user.enqueue(message, [device]);
      expect(await user.idsIn(device)).toEqual([first.id, second.id, third.id]);
      await user.acknowledge(device, [second.id]);
      expect(await user.idsIn(device)).toEqual([first.id, third.id]);
      await user.acknowledge(device, [first.id, third.id]);
      expect(await queues.peek(device, PAGE)).toEqual({ refs: [], hasMore: false, dropped: 0, droppedUpTo: 0 });
      expect(await user.statisticsOf(third)).toEqual({ enqueued: 1, acknowledged: 1, overflowed: 0 });
      expect(await left(appId)).toBeLessThanOrEqual(3);
    });

    it('returns a page, and whether there are more messages', async () => {
      const messages = Array.from({ length: QUEUE_LIMIT }, () => user.newMessage());
      for (const message of messages) await user.enqueue(message, [device]);
      const page = await queues.peek(device, QUEUE_LIMIT - 1);
      expect(page).toMatchObject({ hasMore: true, dropped: 0 });
      expect(page.refs).toEqual(
        messages.slice(0, -1).map(({ id, expiresAt }) => ({ id, platform: 'android', expiresAt })),
      );
      expect(await queues.peek(device, QUEUE_LIMIT)).toMatchObject({ hasMore: false });
      expect((await queues.connect(device, user.newSession(), 1)).page).toMatchObject({
        hasMore: true,
        refs: [page.refs[0]],
      });
    });

    it('returns the connectors of connected devices only', async () => {
      const away = user.newDevice();
      await queues.connect(device, user.newSession('node-7'), PAGE);
      expect(await user.enqueue(user.newMessage(), [device, away])).toEqual([
        { installationId: device.installationId, platform: 'android', node: 'node-7' },
      ]);
    });

    it('returns the bodies of unexpired messages', async () => {
      const [message, short] = [user.newMessage(), user.newMessage({ expiresAt: Date.now() + SHORT_MS })];
      await user.enqueue(message, [device]);
      await user.enqueue(short, [device]);
      expect(await messages(user.newId(), message.id)).toEqual([undefined, message]);
      await eventually(async () => {
        expect(await messages(short.id, message.id)).toEqual([undefined, message]);
      });
      expect(await messages()).toEqual([]);
    });

    it('skips a repeated batch, and returns the devices that still have the message', async () => {
      const { partition, devices } = user.manyDevices(6);
      const message = user.newMessage();
      for (const one of devices) await queues.connect({ appId, ...one }, user.newSession(), PAGE);
      expect(await queues.enqueue({ message, partition, devices: devices.slice(0, 4) })).toHaveLength(4);
      await user.acknowledge({ appId, ...devices[1]! }, [message.id]);
      const reported = await queues.enqueue({ message, partition, devices });
      expect(reported.map(({ installationId }) => installationId)).toEqual(
        [0, 2, 3, 4, 5].map((place) => devices[place]!.installationId),
      );
      expect(await user.statisticsOf(message)).toEqual({ enqueued: 6, acknowledged: 1, overflowed: 0 });
      expect(await user.idsIn({ appId, ...devices[1]! })).toEqual([]);
      expect(await queues.enqueue({ message, partition, devices: [] })).toEqual([]);
    });

    it('compares positions in byte order, for all characters of ids', async () => {
      const positions = ['-a', '0', '09', 'A', 'Z', '_b', 'a', 'aB', 'a_', 'ab', 'z', 'zz'];
      const { partition, devices } = user.manyDevices(positions.length);
      const placed = devices.map((target, place) => ({ ...target, position: positions[place]! }));
      const message = user.newMessage();
      for (let end = 1; end <= placed.length; end += 1)
        await queues.enqueue({ message, partition, devices: placed.slice(Math.max(0, end - 3), end) });
      expect(await user.statisticsOf(message)).toEqual({ enqueued: positions.length, acknowledged: 0, overflowed: 0 });
      for (const target of placed) expect(await user.idsIn({ appId, ...target })).toEqual([message.id]);
      await queues.forget(message);
      expect(await queues.enqueue({ message, partition, devices: placed.slice(-1) })).toEqual([]);
      expect(await user.statisticsOf(message)).toBeUndefined();
    });

    it('enqueues once for two concurrent identical batches', async () => {
      const { partition, devices } = user.manyDevices(50);
      const message = user.newMessage();
      const batch = { message, partition, devices };
      await Promise.all([queues.enqueue(batch), queues.enqueue(batch), queues.enqueue(batch)]);
      expect(await user.statisticsOf(message)).toEqual({ enqueued: 50, acknowledged: 0, overflowed: 0 });
    });

    it('accepts more devices than one script', async () => {
      const { partition, devices } = user.manyDevices(1_200);
      const message = user.newMessage();
      await queues.connect({ appId, ...devices.at(-1)! }, user.newSession('node-1'), PAGE);
      expect(await queues.enqueue({ message, partition, devices })).toEqual([
        { installationId: devices.at(-1)!.installationId, platform: 'android', node: 'node-1' },
      ]);
      expect(await user.statisticsOf(message)).toEqual({ enqueued: 1_200, acknowledged: 0, overflowed: 0 });
    });

    it('drops the oldest message of a full queue, counts it for its own push, and reports it later', async () => {
      const messages = Array.from({ length: QUEUE_LIMIT + 2 }, () => user.newMessage());
      for (const message of messages) await user.enqueue(message, [device]);
      const [first, second, third] = messages;
      expect(await user.statisticsOf(first!)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 1 });
      expect(await user.statisticsOf(second!)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 1 });
      expect(await user.statisticsOf(third!)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 0 });
      const page = await queues.peek(device, PAGE);
      expect(page).toMatchObject({ hasMore: false, dropped: 2 });
      expect(await user.idsIn(device)).toEqual(messages.slice(2).map(({ id }) => id));
      await user.acknowledge(device, [first!.id], page.droppedUpTo - 1);
      expect((await queues.connect(device, user.newSession(), PAGE)).page.dropped).toBe(1);
      expect((await user.statisticsOf(first!))?.acknowledged).toBe(0);
      await user.acknowledge(device, [], page.droppedUpTo);
      expect((await queues.peek(device, PAGE)).dropped).toBe(0);
    });

    it('keeps drops after those that were reported, however often and late the report comes', async () => {
      const reported: number[] = [];
      const drop = async (count: number) => {
        for (let number = 0; number < count; number += 1) await user.enqueue(user.newMessage(), [device]);
        reported.push((await queues.peek(device, PAGE)).droppedUpTo);
      };
      const report = async () => {
        for (const position of [...reported, ...reported]) await user.acknowledge(device, [], position);
        return (await queues.peek(device, PAGE)).dropped;
      };
      await drop(QUEUE_LIMIT + 3);
      await user.enqueue(user.newMessage(), [device]);
      expect(await report()).toBe(1);
      await drop(2);
      await user.enqueue(user.newMessage(), [device]);
      expect([await report(), await report()]).toEqual([1, 1]);
      await drop(0);
      expect(await report()).toBe(0);
      await user.enqueue(user.newMessage(), [device]);
      expect(await report()).toBe(1);
      await queues.clear([device]);
      for (let number = 0; number <= QUEUE_LIMIT; number += 1) await user.enqueue(user.newMessage(), [device]);
      expect(await report()).toBe(1);
    });

    it('drops a message at once that is older than all in a full queue, and wakes no connector', async () => {
      const old = user.newMessage();
      await queues.connect(device, user.newSession(), PAGE);
      for (let count = 0; count < QUEUE_LIMIT; count += 1) await user.enqueue(user.newMessage(), [device]);
      expect(await user.enqueue(old, [device])).toEqual([]);
      expect(await user.statisticsOf(old)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 1 });
      expect(await user.idsIn(device)).not.toContain(old.id);
    });

    it('removes expired messages of a full queue first, and does not count them as dropped', async () => {
      const short = user.newMessage({ expiresAt: Date.now() + SHORT_MS });
      const kept = Array.from({ length: QUEUE_LIMIT - 1 }, () => user.newMessage());
      for (const message of [...kept, short]) await user.enqueue(message, [device]);
      await eventually(async () => {
        expect(await messages(short.id)).toEqual([undefined]);
      });
      const last = user.newMessage();
      await user.enqueue(last, [device]);
      expect(await user.idsIn(device)).toEqual([...kept, last].map(({ id }) => id));
      expect(await user.statisticsOf(short)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 0 });
      expect((await queues.peek(device, PAGE)).dropped).toBe(0);
    });

    it('returns no expired message, for any number of them at the front', async () => {
      const short = Array.from({ length: QUEUE_LIMIT - 1 }, () =>
        user.newMessage({ expiresAt: Date.now() + SHORT_MS }),
      );
      const long = user.newMessage();
      for (const message of [...short, long]) await user.enqueue(message, [device]);
      await eventually(async () => {
        expect(await queues.peek(device, 1)).toEqual({
          refs: [{ id: long.id, platform: 'android', expiresAt: long.expiresAt }],
          hasMore: false,
          dropped: 0,
          droppedUpTo: 0,
        });
      });
    });

    it('counts a message that has expired before it is enqueued, and does not queue it', async () => {
      const late = user.newMessage({ expiresAt: Date.now() - 1_000 });
      await queues.connect(device, user.newSession(), PAGE);
      expect(await user.enqueue(late, [device])).toEqual([]);
      expect(await user.statisticsOf(late)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 0 });
      expect([await user.idsIn(device), await messages(late.id)]).toEqual([[], [undefined]]);
    });

    it('does not count acknowledgements of unknown, foreign and repeated ids', async () => {
      const [message, foreign] = [user.newMessage(), user.newMessage()];
      const other = user.newDevice();
      await user.enqueue(message, [device, other]);
      await user.enqueue(foreign, [other]);
      await Promise.all(Array.from({ length: 10 }, () => user.acknowledge(device, [message.id, message.id])));
      await user.acknowledge(device, [foreign.id, user.newId(), '', 'dropped', '%', '(']);
      await queues.acknowledge([]);
      expect(await user.statisticsOf(message)).toEqual({ enqueued: 2, acknowledged: 1, overflowed: 0 });
      expect(await user.statisticsOf(foreign)).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 0 });
      expect(await user.idsIn(other)).toEqual([message.id, foreign.id]);
    });

    it('accepts acknowledgements of many devices together', async () => {
      const devices = Array.from({ length: 100 }, () => user.newDevice());
      const message = user.newMessage();
      await user.enqueue(message, devices);
      const refs = [{ id: message.id, platform: 'android', expiresAt: message.expiresAt }];
      await queues.acknowledge(devices.map((one) => ({ device: one, refs, reportedUpTo: 0 })));
      expect(await user.statisticsOf(message)).toEqual({ enqueued: 100, acknowledged: 100, overflowed: 0 });
    });

    it('counts each platform separately, for any name', async () => {
      const message = user.newMessage();
      const platforms = ['ios', 'android', 'a b:c', '名前', '__proto__', 'mark'];
      for (const platform of platforms) {
        const one = user.newDevice();
        await user.enqueue(message, [one], platform);
        expect((await queues.peek(one, PAGE)).refs).toEqual([
          { id: message.id, platform, expiresAt: message.expiresAt },
        ]);
        await user.acknowledge(one, platform === 'ios' ? [] : [message.id]);
      }
      const [statistics = new Map<string, never>()] = await queues.statistics([message]);
      expect([...statistics.keys()].sort()).toEqual([...platforms].sort());
      expect(statistics.get('ios')).toEqual({ enqueued: 1, acknowledged: 0, overflowed: 0 });
      expect(statistics.get('a b:c')).toEqual({ enqueued: 1, acknowledged: 1, overflowed: 0 });
    });

    it('reads the statistics of many pushes in their order, also of those without any', async () => {
      const messages = Array.from({ length: 250 }, () => user.newMessage());
      const counted = messages.filter((_, place) => place % 50 === 0);
      for (const message of counted) await user.enqueue(message, [user.newDevice(), user.newDevice()], 'web');
      const web = { enqueued: 2, acknowledged: 0, overflowed: 0 };
      expect(await queues.statistics(messages)).toEqual(
        messages.map((message) => new Map(counted.includes(message) ? [['web', web]] : [])),
      );
      expect(await queues.statistics([])).toEqual([]);
    });

    it('keeps the counts of lists up to date, from any process and in any number of runs', async () => {
      const { devices } = user.manyDevices(3);
      const [first, second] = [user.newMessage(), user.newMessage()];
      const addUp = async (some = queues) => {
        while (await some.addUpStatistics());
      };
      const recent = async () => (await queues.recentStatistics([first, second])).map((one) => one.get('android'));
      /** The lease of the store of an earlier test may have to end first. */
      const untilRecent = (expected: (QueueStatistics | undefined)[]) =>
        eventually(async () => {
          await Promise.all([addUp(), addUp(), addUp(open())]);
          expect(await recent()).toEqual(expected);
        });
      const addresses = [...devices, user.newDevice(), user.newDevice()].map((one) => ({ appId, ...one }));
      for (const message of [first, second]) await user.enqueue(message, addresses);
      const enqueued = { enqueued: 5, acknowledged: 0, overflowed: 0 };
      await untilRecent([enqueued, enqueued]);
      for (const address of addresses.slice(0, 4)) await user.acknowledge(address, [first.id]);
      await untilRecent([{ ...enqueued, acknowledged: 4 }, enqueued]);
      for (let times = 0; times < 3; times += 1) await addUp();
      expect(await queues.recentStatistics([first, second])).toEqual(await queues.statistics([first, second]));
      await queues.forget(first);
      expect(await recent()).toEqual([undefined, enqueued]);
    });

    it('deletes the statistics of a push, and counts nothing for it afterwards', async () => {
      const messages = Array.from({ length: QUEUE_LIMIT }, () => user.newMessage());
      for (const message of messages) await user.enqueue(message, [device]);
      for (const message of messages) await queues.forget(message);
      await user.enqueue(user.newMessage(), [device]);
      await user.acknowledge(device, [messages[1]!.id]);
      expect(await queues.statistics(messages)).toEqual(messages.map(() => new Map()));
      expect(await user.idsIn(device)).toHaveLength(QUEUE_LIMIT - 1);
    });

    it('skips a batch that arrives after the statistics were deleted', async () => {
      const { partition, devices } = user.manyDevices(3);
      const message = user.newMessage();
      await queues.enqueue({ message, partition, devices: devices.slice(0, 2) });
      await user.acknowledge({ appId, ...devices[0]! }, [message.id]);
      await queues.forget(message);
      await queues.enqueue({ message, partition, devices });
      expect([await user.idsIn({ appId, ...devices[0]! }), await queues.statistics([message])]).toEqual([
        [],
        [new Map()],
      ]);
      expect(await user.idsIn({ appId, ...devices[1]! })).toEqual([message.id]);
    });

    it('counts the messages of a deleted device as dropped, once, also those that it acknowledges later', async () => {
      const message = user.newMessage();
      await user.enqueue(message, [device, user.newDevice()]);
      for (let count = 0; count < 2; count += 1) await queues.clear([device]);
      await user.acknowledge(device, [message.id]);
      expect(await user.statisticsOf(message)).toEqual({ enqueued: 2, acknowledged: 0, overflowed: 1 });
    });

    it('deletes the messages and the unreported drops of a device', async () => {
      const other = user.newDevice();
      for (let count = 0; count <= QUEUE_LIMIT; count += 1) await user.enqueue(user.newMessage(), [device, other]);
      await queues.clear([device]);
      await queues.clear([]);
      expect(await queues.peek(device, PAGE)).toEqual({ refs: [], hasMore: false, dropped: 0, droppedUpTo: 0 });
      expect(await queues.peek(other, PAGE)).toMatchObject({ dropped: 1 });
    });

    it('keeps no expired data', async () => {
      for (let count = 0; count <= QUEUE_LIMIT; count += 1)
        await user.enqueue(user.newMessage({ expiresAt: Date.now() + SHORT_MS }), [device, user.newDevice()]);
      expect(await left(appId)).toBeGreaterThan(0);
      await eventually(async () => {
        while (await queues.removeExpired());
        expect(await left(appId)).toBe(0);
      });
    });

    it('keeps a queue until its last message expires, in any order of arrival', async () => {
      const [long, short] = [user.newMessage(), user.newMessage({ expiresAt: Date.now() + SHORT_MS })];
      await user.enqueue(long, [device]);
      await user.enqueue(short, [device]);
      await eventually(async () => {
        while (await queues.removeExpired());
        expect(await messages(short.id)).toEqual([undefined]);
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

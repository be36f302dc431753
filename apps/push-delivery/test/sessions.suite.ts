import { beforeEach, describe, expect, it } from 'vitest';
import { eventually, unique } from '#testing';
import type { DeviceAddress, DevicePresence, DeviceQueues, PresencePage } from '../src/device-queues/device-queues.js';
import { QUEUE_LIMIT, type QueueStore } from './queue-stores.js';
import { QueueUser } from './queue-user.js';

const PAGE = 50;

/** The contract of every store of sessions. */
export function describeSessions({ name, open }: QueueStore): void {
  describe(`the sessions of devices in ${name}`, () => {
    let user: QueueUser;
    let queues: DeviceQueues;
    let device: DeviceAddress;

    beforeEach(() => {
      queues = open();
      user = new QueueUser(queues);
      device = user.newDevice();
    });

    const connect = (session = user.newSession()) => queues.connect(device, session, PAGE);
    /** The connector that an enqueued message finds for the device. */
    const nodeOf = async (one = device) => {
      const [found] = await user.enqueue(user.newMessage(), [one]);
      return found?.node;
    };

    it('are one per device: the newest, which is given the previous one', async () => {
      const [first, second] = [user.newSession('node-1'), user.newSession('node-2')];
      expect((await connect(first)).previous).toBeUndefined();
      expect((await connect(second)).previous).toEqual(first);
      expect(await nodeOf()).toBe('node-2');
      expect(await queues.countConnected(user.appId)).toBe(1);
    });

    it('are not in conflict with themselves', async () => {
      const session = user.newSession();
      await connect();
      expect(await connect(session)).toMatchObject({ conflicts: 1 });
      expect(await connect(session)).toMatchObject({ conflicts: 1, previous: undefined });
    });

    it('end on request, unless a newer one exists', async () => {
      const [first, second] = [user.newSession(), user.newSession('node-2')];
      await connect(first);
      await connect(second);
      await queues.disconnect([{ device, session: first }]);
      expect(await nodeOf()).toBe('node-2');
      await queues.disconnect([
        { device, session: second },
        { device: user.newDevice(), session: first },
      ]);
      expect([await nodeOf(), await queues.countConnected(user.appId)]).toEqual([undefined, 0]);
    });

    it('add up their conflicts, until one ends without a conflict', async () => {
      const conflicts = [];
      for (let count = 0; count < 4; count += 1) conflicts.push((await connect()).conflicts);
      const last = user.newSession();
      conflicts.push((await connect(last)).conflicts);
      expect(conflicts).toEqual([0, 1, 2, 3, 4]);
      await queues.disconnect([{ device, session: last }]);
      expect((await connect()).conflicts).toBe(0);
      expect((await connect()).conflicts).toBe(1);
    });

    it('restart the count of conflicts after a long time', async () => {
      queues = open({ conflictMs: 1 });
      await connect();
      await connect();
      await eventually(async () => {
        expect((await connect()).conflicts).toBe(1);
      });
    });

    it('replace each other one by one if many connect at once', async () => {
      const sessions = Array.from({ length: 20 }, () => user.newSession(unique('node')));
      const outcomes = await Promise.all(sessions.map((session) => connect(session)));
      const ended = outcomes.flatMap(({ previous }) => previous?.session ?? []);
      const owner = sessions.filter(({ session }) => !ended.includes(session));
      expect([new Set(ended).size, owner.length]).toEqual([19, 1]);
      expect(await nodeOf()).toBe(owner[0]!.node);
    });

    it.each([
      [
        'the message',
        async (enqueue: () => Promise<boolean>, login: () => Promise<boolean>) => Promise.all([enqueue(), login()]),
      ],
      [
        'the login',
        async (enqueue: () => Promise<boolean>, login: () => Promise<boolean>) => Promise.all([login(), enqueue()]),
      ],
    ])('and queues miss no message where both come at once, %s first', async (_, both) => {
      for (let round = 0; round < 20; round += 1) {
        const [one, message] = [user.newDevice(), user.newMessage()];
        const enqueue = async () => (await user.enqueue(message, [one])).length > 0;
        const login = async () => (await queues.connect(one, user.newSession(), PAGE)).page.refs.length > 0;
        expect(await both(enqueue, login)).toContain(true);
      }
    });

    it('can be reasserted: lost ones are restored, those on other connectors stay', async () => {
      const [mine, moved] = [user.newDevice(), user.newDevice()];
      const sessions = [mine, moved, device].map((one) => ({ device: one, session: user.newSession('node-1') }));
      await queues.connect(moved, user.newSession('node-2'), PAGE);
      await queues.connect(device, user.newSession('node-1'), PAGE);
      expect(await queues.reassert(sessions, true)).toEqual({ elsewhere: [moved], restored: [mine] });
      expect(await queues.reassert(sessions, false)).toEqual({ elsewhere: [moved], restored: [] });
      expect([await nodeOf(mine), await nodeOf(moved), await nodeOf(device)]).toEqual(['node-1', 'node-2', 'node-1']);
      // The store had lost an older session of the device on the same node.
      await queues.disconnect(sessions);
      expect(await queues.countConnected(user.appId)).toBe(1);
      expect(await queues.reassert([], false)).toEqual({ elsewhere: [], restored: [] });
    });

    it('are counted for their application', async () => {
      const devices = Array.from({ length: 30 }, () => user.newDevice());
      await Promise.all(devices.map((one) => queues.connect(one, user.newSession(), PAGE)));
      expect(await queues.countConnected(user.appId)).toBe(30);
      expect(await queues.countConnected(unique('app'))).toBe(0);
    });

    it('are counted for all applications together', async () => {
      const other = new QueueUser(queues);
      const presences = [user.newDevice(), user.newDevice(), other.newDevice()].map((one) => ({
        device: one,
        session: user.newSession(),
      }));
      for (const presence of presences) await queues.connect(presence.device, presence.session, PAGE);
      const counted = async () => {
        const all = await queues.countAllConnected();
        return [user.appId, other.appId].map((appId) => all.get(appId) ?? 0);
      };
      expect(await counted()).toEqual([2, 1]);
      await queues.disconnect(presences.slice(1));
      expect(await counted()).toEqual([1, 0]);
    });

    it('are listed page by page, each once, with their connectors', async () => {
      expect(await queues.listConnected(user.appId, undefined, 10)).toEqual({ sessions: [], next: undefined });
      const presences = Array.from({ length: 90 }, (_, index) => ({
        device: user.newDevice(),
        session: user.newSession(`node-${index % 3}`),
      }));
      for (const presence of presences) await queues.connect(presence.device, presence.session, PAGE);
      const found: DevicePresence[] = [];
      let pages = 0;
      let next: PresencePage['next'];
      do {
        const page: PresencePage = await queues.listConnected(user.appId, next, 20);
        if (page.next !== undefined) expect(page.sessions.length).toBeGreaterThanOrEqual(20);
        found.push(...page.sessions);
        [next, pages] = [page.next, pages + 1];
      } while (next !== undefined);
      const inOrder = (list: DevicePresence[]) =>
        list.toSorted((one, other) => (one.device.installationId < other.device.installationId ? -1 : 1));
      expect(inOrder(found)).toEqual(inOrder(presences));
      expect(pages).toBeGreaterThan(1);
    });

    it('are described with their queues, in the order of the request', async () => {
      const [other, unknown, full] = [user.newDevice(), user.newDevice(), user.newDevice()];
      const session = user.newSession('node-2');
      await connect(session);
      for (let count = 0; count < 3; count += 1) await user.enqueue(user.newMessage(), [device, other]);
      for (let count = 0; count < QUEUE_LIMIT + 2; count += 1) await user.enqueue(user.newMessage(), [full]);
      expect(await queues.describe([unknown, device, full, other])).toEqual([
        { session: undefined, waiting: 0, dropped: 0 },
        { session, waiting: 3, dropped: 0 },
        { session: undefined, waiting: QUEUE_LIMIT, dropped: 2 },
        { session: undefined, waiting: 3, dropped: 0 },
      ]);
      const soon = user.newMessage({ expiresAt: Date.now() + 300 });
      await user.enqueue(soon, [unknown]);
      await eventually(async () => {
        expect((await queues.describe([unknown]))[0]?.waiting).toBe(0);
      });
    });

    it('of dead nodes can be ended together', async () => {
      const devices = Array.from({ length: 30 }, () => user.newDevice());
      const [dead, alive] = [unique('node'), unique('node')];
      for (const [index, one] of devices.entries())
        await queues.connect(one, user.newSession(index % 3 === 0 ? alive : dead), PAGE);
      await queues.endSessionsOf([dead, unique('node')]);
      expect(await queues.countConnected(user.appId)).toBe(10);
      expect([await nodeOf(devices[0]), await nodeOf(devices[1])]).toEqual([alive, undefined]);
      await queues.endSessionsOf([alive]);
      await queues.endSessionsOf([]);
      expect(await queues.countConnected(user.appId)).toBe(0);
    });

    it.each(['a b', '1 2 3', '', '%d', '名前'])('can have any name: %j', async (name) => {
      const session = { node: 'node-1', session: name };
      await connect(session);
      expect((await connect()).previous).toEqual(session);
    });
  });
}

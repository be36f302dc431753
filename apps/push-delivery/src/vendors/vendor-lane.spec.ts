import { setImmediate } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { describe, expect, it, vi } from 'vitest';
import { Metrics } from '#observability';
import type { Outcome, VendorChannel, VendorPush, VendorTarget } from './vendor-channel.rules.js';
import { VendorLanes } from './vendor-channels.js';
import { VendorLane } from './vendor-lane.js';

const push = {} as VendorPush;
const target: VendorTarget = { objectId: 'i', token: 't', platform: 'ios', topic: null, badge: null };
const options = { isUrgent: false, signal: new AbortController().signal, isExpired: () => false };
const bad: Outcome = { kind: 'invalid', reason: 'BadDeviceToken', isDoubtful: true };
const good: Outcome = { kind: 'accepted' };
const resultsOf = (good_: number, bad_: number) =>
  [...Array.from({ length: good_ }, () => good), ...Array.from({ length: bad_ }, () => bad)].map((outcome) => ({
    objectId: 'i',
    badge: null,
    target,
    outcome,
  }));

function laneWith(send: () => Promise<readonly Outcome[]>) {
  const channel: VendorChannel = {
    targetsPerRequest: 1,
    send,
    check: () => Promise.resolve(undefined),
    close: () => undefined,
  };
  const logger = new Logger('Vendors');
  const warn = vi.spyOn(logger, 'warn').mockImplementation(() => undefined);
  vi.spyOn(logger, 'error').mockImplementation(() => undefined);
  const tools = { requests: new Metrics().vendorRequests, logger, window: 100 };
  return { lane: new VendorLane('app apns', 'apns', 1, channel, tools), warn };
}

describe('a lane', () => {
  it('runs few requests at once at first, and more with each success', async () => {
    let [running, most] = [0, 0];
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const { lane } = laneWith(async () => {
      running += 1;
      most = Math.max(most, running);
      await answered;
      await setImmediate();
      running -= 1;
      return [good];
    });
    const sent = Array.from({ length: 200 }, () => lane.send(push, [target], options));
    await setImmediate();
    expect(most).toBe(10);
    answer();
    await Promise.all(sent);
    expect(most).toBeGreaterThan(50);
    expect(most).toBeLessThanOrEqual(100);
  });

  it('rests where the credentials do not work: nothing more is asked', async () => {
    let asked = 0;
    const { lane, warn } = laneWith(() => {
      asked += 1;
      return Promise.resolve([{ kind: 'credentials', reason: 'InvalidProviderToken' }]);
    });
    await lane.send(push, [target], options);
    expect(lane.backOffMs).toBeGreaterThan(50_000);
    expect(await lane.send(push, [target], options)).toEqual([{ kind: 'waiting', reason: 'InvalidProviderToken' }]);
    expect([asked, warn.mock.calls.length]).toEqual([1, 1]);
  });

  it('that is closed, as its credentials were replaced, does not rest for a late refusal of the old ones', async () => {
    let refuse: (outcomes: readonly Outcome[]) => void = () => undefined;
    const { lane, warn } = laneWith(() => new Promise((resolve) => (refuse = resolve)));
    const sent = lane.send(push, [target], options);
    await setImmediate();
    lane.close();
    refuse([{ kind: 'credentials', reason: 'InvalidProviderToken' }]);
    expect(await sent).toEqual([{ kind: 'credentials', reason: 'InvalidProviderToken' }]);
    expect([lane.backOffMs, warn.mock.calls.length]).toEqual([0, 0]);
  });

  it('rests after five failures in a row, and for as long as the vendor asks', async () => {
    const failing = laneWith(() => Promise.resolve([{ kind: 'unsure', reason: 'no answer', scope: 'lane' }]));
    for (let one = 0; one < 4; one += 1) await failing.lane.send(push, [target], options);
    expect(failing.lane.backOffMs).toBe(0);
    await failing.lane.send(push, [target], options);
    expect(failing.lane.backOffMs).toBeGreaterThan(500);
    for (const kind of ['later', 'unsure'] as const) {
      const asked = laneWith(() => Promise.resolve([{ kind, reason: 'quota', scope: 'lane', backOffMs: 30_000 }]));
      await asked.lane.send(push, [target], options);
      expect(asked.lane.backOffMs).toBeGreaterThan(29_000);
    }
  });

  it('asks with one request after a rest, whatever late answers came meanwhile', async () => {
    const answers: ((outcome: Outcome) => void)[] = [];
    const { lane } = laneWith(async () => [await new Promise<Outcome>((resolve) => answers.push(resolve))]);
    const sent = Array.from({ length: 10 }, () => lane.send(push, [target], options));
    await setImmediate();
    for (const answer of answers.slice(0, 5)) answer({ kind: 'unsure', reason: 'no answer', scope: 'lane' });
    await setImmediate();
    for (const answer of answers.slice(5)) answer(good);
    await Promise.all(sent);
    expect(lane.backOffMs).toBeGreaterThan(500);
    const afterRest = performance.now() + 2_000;
    vi.spyOn(performance, 'now').mockReturnValue(afterRest);
    for (let request = 0; request < 5; request += 1) void lane.send(push, [target], options);
    await setImmediate();
    expect(answers).toHaveLength(11);
    vi.restoreAllMocks();
  });

  it('counts a request with many devices once, by its worst outcome', async () => {
    const times = (count: number, outcome: Outcome) => Array.from({ length: count }, () => outcome);
    const unsure: Outcome = { kind: 'unsure', reason: 'no answer', scope: 'lane' };
    const silent = laneWith(() => Promise.resolve(times(500, unsure)));
    for (let request = 0; request < 4; request += 1)
      await silent.lane.send(
        push,
        times(500, good).map(() => target),
        options,
      );
    expect(silent.lane.backOffMs).toBe(0);
    const mixed = laneWith(() =>
      Promise.resolve([good, { kind: 'later', reason: 'busy', scope: 'lane', backOffMs: 9_000 }, unsure, good]),
    );
    await mixed.lane.send(push, [target, target, target, target], options);
    expect(mixed.lane.backOffMs).toBeGreaterThan(8_000);
    const refused = laneWith(() => Promise.resolve([unsure, { kind: 'credentials', reason: 'no app' }, good]));
    await refused.lane.send(push, [target, target, target], options);
    expect(refused.lane.backOffMs).toBeGreaterThan(50_000);
  });

  it('runs one more request at once after an answer to many devices', async () => {
    const answers: ((outcomes: readonly Outcome[]) => void)[] = [];
    const { lane } = laneWith(() => new Promise<readonly Outcome[]>((resolve) => answers.push(resolve)));
    for (let request = 0; request < 40; request += 1) void lane.send(push, [target], options);
    await setImmediate();
    answers[0]?.([{ kind: 'unsure', reason: 'no answer', scope: 'lane' }]);
    for (const answer of answers.slice(1, 6)) answer([]);
    await setImmediate();
    // The window has shrunk to five, and four of the earlier requests run on.
    const before = answers.length;
    answers[6]?.(Array.from({ length: 500 }, () => good));
    await setImmediate();
    expect(answers.length - before).toBeLessThanOrEqual(2);
  });

  it('is responsive after an answer, until a failure or five seconds without an answer', async () => {
    let outcome: Outcome = good;
    const { lane } = laneWith(() => Promise.resolve([outcome]));
    const isResponsiveAfter = async (next: Outcome) => {
      outcome = next;
      await lane.send(push, [target], options);
      return lane.isResponsive;
    };
    expect(lane.isResponsive).toBe(false);
    expect(await isResponsiveAfter(good)).toBe(true);
    expect(await isResponsiveAfter({ kind: 'unsure', reason: 'no answer', scope: 'lane' })).toBe(false);
    expect(await isResponsiveAfter(good)).toBe(true);
    const later = performance.now() + 5_001;
    vi.spyOn(performance, 'now').mockReturnValue(later);
    expect(lane.isResponsive).toBe(false);
    expect(await isResponsiveAfter(good)).toBe(true);
    vi.restoreAllMocks();
    expect(await isResponsiveAfter({ kind: 'credentials', reason: 'InvalidProviderToken' })).toBe(false);
  });

  it('does not rest because of servers that devices have chosen', async () => {
    const { lane, warn } = laneWith(() => Promise.resolve([{ kind: 'unsure', reason: 'no answer', scope: 'device' }]));
    for (let request = 0; request < 20; request += 1) await lane.send(push, [target], options);
    expect([lane.backOffMs > 0, warn.mock.calls.length]).toEqual([false, 0]);
  });

  it('rejects what a defect has stopped, and goes on', async () => {
    const { lane } = laneWith(() => Promise.reject(new Error('a defect')));
    expect(await lane.send(push, [target], options)).toEqual([{ kind: 'rejected', reason: 'internal error' }]);
    expect(lane.backOffMs).toBe(0);
  });

  it('sends nothing after a stop', async () => {
    const { lane } = laneWith(() => Promise.resolve([good]));
    expect(await lane.send(push, [target], { ...options, signal: AbortSignal.abort() })).toEqual([
      { kind: 'waiting', reason: 'the process stops' },
    ]);
  });

  it('sends nothing of a push that expires while it waits for its turn', async () => {
    let [asked, now] = [0, 0];
    const expiresAt = 1_000;
    const channel: VendorChannel = {
      targetsPerRequest: 1,
      send: async () => {
        asked += 1;
        await setImmediate();
        now = expiresAt;
        return [good];
      },
      check: () => Promise.resolve(undefined),
      close: () => undefined,
    };
    const tools = { requests: new Metrics().vendorRequests, logger: new Logger('Vendors'), window: 1 };
    const lane = new VendorLane('app apns', 'apns', 1, channel, tools);
    const send = () => lane.send(push, [target], { ...options, isExpired: () => now >= expiresAt });
    expect(await Promise.all([send(), send()])).toEqual([[good], [{ kind: 'waiting', reason: 'expired' }]]);
    expect(asked).toBe(1);
  });

  it('never runs more requests at once than its window', async () => {
    let [running, most] = [0, 0];
    const { lane } = laneWith(async () => {
      running += 1;
      most = Math.max(most, running);
      await setImmediate();
      running -= 1;
      return [good];
    });
    await Promise.all(Array.from({ length: 2_000 }, () => lane.send(push, [target], options)));
    expect(most).toBe(100);
  });

  it('sends the requests of single pushes before those of large ones', async () => {
    const sent: string[] = [];
    const free: (() => void)[] = [];
    const channel: VendorChannel = {
      targetsPerRequest: 1,
      send: async (_push, [one]) => {
        sent.push(one?.objectId ?? '');
        await new Promise<void>((resolve) => free.push(resolve));
        return [good];
      },
      check: () => Promise.resolve(undefined),
      close: () => undefined,
    };
    const tools = { requests: new Metrics().vendorRequests, logger: new Logger('Vendors'), window: 1 };
    const lane = new VendorLane('app apns', 'apns', 1, channel, tools);
    const sendTo = (objectId: string, isUrgent: boolean) =>
      lane.send(push, [{ ...target, objectId }], { ...options, isUrgent });
    const all = Promise.all([sendTo('large 1', false), sendTo('large 2', false), sendTo('single', true)]);
    for (const expected of ['large 1', 'single', 'large 2']) {
      await vi.waitFor(() => {
        expect(sent.at(-1)).toBe(expected);
      });
      free.shift()?.();
    }
    await all;
  });

  it('sends nothing while the operator has paused it, and after it was replaced', async () => {
    let asked = 0;
    const { lane } = laneWith(() => {
      asked += 1;
      return Promise.resolve([good]);
    });
    lane.setPaused(true);
    expect(await lane.send(push, [target], options)).toEqual([{ kind: 'waiting', reason: 'paused' }]);
    expect(lane.backOffMs).toBeGreaterThan(60_000);
    lane.setPaused(false);
    expect([lane.backOffMs, await lane.send(push, [target], options)]).toEqual([0, [good]]);
    lane.close();
    expect(await lane.send(push, [target], options)).toMatchObject([{ kind: 'waiting' }]);
    expect(asked).toBe(1);
  });

  it('reports answers together each second, and at once where a token is in doubt', () => {
    const { lane } = laneWith(() => Promise.resolve([]));
    expect(lane.takeAnswerReport(resultsOf(2, 0))).toEqual({ version: 1, answers: 2, good: 2, doubtful: 0 });
    expect(lane.takeAnswerReport(resultsOf(3, 0))).toBeUndefined();
    expect(lane.takeAnswerReport(resultsOf(1, 2))).toEqual({ version: 1, answers: 6, good: 4, doubtful: 2 });
    expect(lane.takeAnswerReport(resultsOf(1, 0))).toBeUndefined();
  });
});

describe('the lanes of a process', () => {
  it('open one channel for concurrent batches, and another one after a change of the credentials', async () => {
    let version = 1;
    const closed: number[] = [];
    const opened: number[] = [];
    const credentials = { appId: '1', appSecret: 's' };
    const paused = new Set<string>();
    const channels = {
      windowOf: () => 8,
      credentialsOf: () => Promise.resolve({ vendor: 'meizu' as const, version, credentials, pausedLanes: paused }),
      open: async (_: string, { version: own }: { version: number }): Promise<VendorChannel> => {
        await setImmediate();
        opened.push(own);
        const close = () => void closed.push(own);
        return {
          targetsPerRequest: 1,
          send: () => Promise.resolve([good]),
          check: () => Promise.resolve(undefined),
          close,
        };
      },
    };
    const lanes = new VendorLanes(channels, new Metrics().vendorRequests);
    const find = () => lanes.find('app', 'meizu/_default//prod');
    const found = await Promise.all([find(), find(), find()]);
    expect([new Set(found).size, opened, closed]).toEqual([1, [1], []]);
    version = 2;
    expect(await find()).not.toBe(found[0]);
    expect([opened, closed]).toEqual([[1, 2], [1]]);
    paused.add('meizu/_default//prod');
    expect((await find())?.isPaused).toBe(true);
    lanes.close();
    expect(closed).toEqual([1, 2]);
    expect(await lanes.find('app', 'later-release/_default//prod')).toBeUndefined();
  });
});

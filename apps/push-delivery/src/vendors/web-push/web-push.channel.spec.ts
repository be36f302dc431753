import { createECDH, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { decodeJwt } from 'jose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Clock } from '#bootstrap';
import { Metrics } from '#observability';
import { OutboundClient, OutboundError } from '#outbound';
import { PUSH as push } from '../../../test/vendor-push.js';
import type { VendorTarget } from '../vendor-channel.rules.js';
import { VendorLane } from '../vendor-lane.js';
import { PushServices } from './push-services.js';
import { WebPushChannel } from './web-push.channel.js';
import { newVapidKeys } from './web-push.crypto.js';

function targetAt(origin: string, path = '/push/1'): VendorTarget {
  const ecdh = createECDH('prime256v1');
  const keys = { p256dh: ecdh.generateKeys('base64url'), auth: randomBytes(16).toString('base64url') };
  const token = JSON.stringify({ endpoint: `${origin}${path}`, keys });
  return { objectId: 'i', token, platform: 'web', topic: null, badge: null };
}

describe('the channel to browsers', () => {
  const outbound = new OutboundClient({
    internalNetworks: [],
    timeoutMs: 1_000,
    maxAnswerBytes: 1_000,
    maxConnections: 1,
  });
  const services = new PushServices(outbound, { timeoutMs: 1_000 });
  const channel = () =>
    new WebPushChannel({ keys: newVapidKeys(), subject: 'mailto:a@b.c', services, clock: new Clock() });
  const silentAt = (silent: string) =>
    vi
      .spyOn(services, 'send')
      .mockImplementation(({ origin }) =>
        origin === silent
          ? Promise.reject(new OutboundError('no answer within 10000 ms'))
          : Promise.resolve({ status: 201, text: '', retryAfter: undefined }),
      );
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  it('asks a push service that is silent less and less often, and the others as before', async () => {
    const send = silentAt('https://silent.example');
    const browsers = channel();
    const outcomeAt = async (origin: string) => (await browsers.send(push, [targetAt(origin)]))[0];
    for (let request = 0; request < 3; request += 1)
      expect(await outcomeAt('https://silent.example')).toEqual({
        kind: 'unsure',
        reason: 'no answer',
        scope: 'device',
      });
    expect(await outcomeAt('https://silent.example')).toEqual({
      kind: 'waiting',
      reason: 'no answer',
      backOffMs: 5_000,
    });
    expect(await outcomeAt('https://other.example')).toEqual({ kind: 'accepted' });
    expect(send).toHaveBeenCalledTimes(4);
    vi.advanceTimersByTime(5_001);
    expect(await outcomeAt('https://silent.example')).toMatchObject({ kind: 'unsure' });
    expect(await outcomeAt('https://silent.example')).toMatchObject({ kind: 'waiting', backOffMs: 10_000 });
  });

  it('goes on at once with a push service that answers again', async () => {
    const send = silentAt('https://silent.example');
    const browsers = channel();
    for (let request = 0; request < 3; request += 1) await browsers.send(push, [targetAt('https://silent.example')]);
    vi.advanceTimersByTime(5_001);
    send.mockResolvedValue({ status: 201, text: '', retryAfter: undefined });
    for (let request = 0; request < 2; request += 1)
      expect(await browsers.send(push, [targetAt('https://silent.example')])).toEqual([{ kind: 'accepted' }]);
  });

  it.each([
    [503, 1],
    [429, 3],
  ])(
    'sends nothing to any device of a push service for as long as that asks by %i, at most ten minutes',
    async (status, times) => {
      const send = vi.spyOn(services, 'send').mockImplementation(({ origin }) => {
        const isBusy = origin === 'https://busy.example';
        return Promise.resolve({ status: isBusy ? status : 201, text: '', retryAfter: isBusy ? '3600' : undefined });
      });
      const browsers = channel();
      const newPath = () => `/${randomBytes(4).toString('hex')}`;
      const outcomeAt = async (origin: string) => (await browsers.send(push, [targetAt(origin, newPath())]))[0];
      const asked = { kind: 'later', reason: `status ${status}`, scope: 'device', backOffMs: 3_600_000 };
      for (let count = 0; count < times; count += 1) expect(await outcomeAt('https://busy.example')).toEqual(asked);
      expect(await outcomeAt('https://busy.example')).toEqual({
        kind: 'waiting',
        reason: 'the push service asks for fewer requests',
        backOffMs: 600_000,
      });
      expect(await outcomeAt('https://other.example')).toEqual({ kind: 'accepted' });
      expect(send).toHaveBeenCalledTimes(times + 1);
      vi.advanceTimersByTime(600_001);
      expect(await outcomeAt('https://busy.example')).toEqual(asked);
    },
  );

  it.each([
    [200, '\n<!doctype html>', { kind: 'unsure', reason: 'no answer', scope: 'device' }],
    [302, '', { kind: 'unsure', reason: 'no answer', scope: 'device' }],
    [403, '<html>', { kind: 'unsure', reason: 'no answer', scope: 'device' }],
    [403, 'Forbidden', { kind: 'rejected', reason: 'status 403' }],
    [202, 'Accepted', { kind: 'accepted' }],
  ])('takes the page of a proxy for no answer of the push service: %i %j', async (status, text, outcome) => {
    vi.spyOn(services, 'send').mockResolvedValue({ status, text, retryAfter: undefined });
    expect(await channel().send(push, [targetAt('https://a.example')])).toEqual([outcome]);
  });

  it('sends nothing to one device for as long as its push service asks by 429', async () => {
    const send = vi.spyOn(services, 'send').mockImplementation(({ pathname }) => {
      const isBusy = pathname === '/busy';
      return Promise.resolve({ status: isBusy ? 429 : 201, text: '', retryAfter: isBusy ? '300' : undefined });
    });
    const browsers = channel();
    const outcomeAt = async (path: string) => (await browsers.send(push, [targetAt('https://a.example', path)]))[0];
    expect(await outcomeAt('/busy')).toEqual({
      kind: 'later',
      reason: 'status 429',
      scope: 'device',
      backOffMs: 300_000,
    });
    expect(await outcomeAt('/busy')).toMatchObject({ kind: 'waiting', backOffMs: 300_000 });
    expect(await outcomeAt('/other')).toEqual({ kind: 'accepted' });
    expect(send).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(300_001);
    expect(await outcomeAt('/busy')).toMatchObject({ kind: 'later' });
    expect(send).toHaveBeenCalledTimes(3);
  });

  it('signs for a push service again before its token expires, also one in constant use', async () => {
    const send = vi.spyOn(services, 'send').mockResolvedValue({ status: 201, text: '', retryAfter: undefined });
    const clock = new Clock();
    let elapsedMs = 0;
    vi.spyOn(clock, 'now').mockImplementation(() => new Date(Date.now() + elapsedMs));
    const browsers = new WebPushChannel({ keys: newVapidKeys(), subject: 'mailto:a@b.c', services, clock });
    const lives = new Set<string>();
    for (let hour = 0; hour < 30; hour += 1) {
      await browsers.send(push, [targetAt('https://push.example')]);
      const { authorization = '' } = send.mock.lastCall?.[1].headers ?? {};
      const token = /t=([^,]+)/.exec(authorization)?.[1] ?? '';
      lives.add(token);
      expect(decodeJwt(token).exp! * 1_000).toBeGreaterThan(clock.now().getTime());
      vi.advanceTimersByTime(3_600_000);
      elapsedMs += 3_600_000;
    }
    expect(lives.size).toBeLessThan(8);
  });

  it('signs for a push service again after the clock was set back', async () => {
    const send = vi.spyOn(services, 'send').mockResolvedValue({ status: 201, text: '', retryAfter: undefined });
    const clock = new Clock();
    const correct = Date.UTC(2027, 0, 1);
    const now = vi.spyOn(clock, 'now').mockReturnValue(new Date(correct + 30 * 86_400_000));
    const browsers = new WebPushChannel({ keys: newVapidKeys(), subject: 'mailto:a@b.c', services, clock });
    await browsers.send(push, [targetAt('https://push.example')]);
    now.mockReturnValue(new Date(correct));
    await browsers.send(push, [targetAt('https://push.example')]);
    const { authorization = '' } = send.mock.lastCall?.[1].headers ?? {};
    // Push services refuse tokens that are valid for more than a day (RFC 8292).
    expect(decodeJwt(/t=([^,]+)/.exec(authorization)?.[1] ?? '').exp! * 1_000 - correct).toBeLessThan(86_400_000);
  });

  it('never dials an internal address', async () => {
    for (const origin of ['https://127.0.0.1', 'https://localhost', 'https://[::1]', 'https://10.0.0.1'])
      expect(await channel().send(push, [targetAt(origin)])).toEqual([
        { kind: 'rejected', reason: 'internal address' },
      ]);
  });
});

describe('push services that have never answered', () => {
  const TIMEOUT_MS = 500;
  /** Services whose hosts begin with `silent` time out. */
  const laneTo = (asked: string[] = [], failure = { reason: 'no answer in time', afterMs: TIMEOUT_MS }) => {
    const services = {
      send: async ({ origin }: URL) => {
        asked.push(origin);
        await sleep(origin.startsWith('https://silent') ? failure.afterMs : 20);
        if (origin.startsWith('https://silent')) throw new OutboundError(failure.reason);
        return { status: 201, text: '', retryAfter: undefined };
      },
      close: () => undefined,
    };
    const options = { keys: newVapidKeys(), subject: 'mailto:a@b.c', services, clock: new Clock() };
    const tools = { requests: new Metrics().vendorRequests, logger: new Logger('Vendors'), window: 100 };
    const lane = new VendorLane('app web-push', 'web-push', 1, new WebPushChannel(options), tools);
    const sendOptions = { isUrgent: true, signal: new AbortController().signal, isExpired: () => false };
    return async (origin: string) => (await lane.send(push, [targetAt(origin)], sendOptions))[0];
  };
  const silentOrigins = Array.from({ length: 200 }, (_, place) => `https://silent${place}.example`);

  it.each([
    ['that has answered', true],
    ['that has not answered yet', false],
  ])('do not hold up the devices of one %s', async (_, hasAnswered) => {
    const send = laneTo();
    if (hasAnswered) expect(await send('https://good.example')).toEqual({ kind: 'accepted' });
    // One of the places for trials is left where the good one needs it.
    const silent = silentOrigins.slice(0, hasAnswered ? 200 : 3).map(send);
    const sent = Promise.all(Array.from({ length: 20 }, () => send('https://good.example')));
    const good = await Promise.race([sent, ...silent.slice(0, 1).map((one) => one.then(() => []))]);
    expect(good).toHaveLength(20);
    expect(good).toEqual(good.map(() => ({ kind: 'accepted' })));
    await Promise.all(silent);
  });

  it('are asked a few at a time, and the others return one after the other', async () => {
    const asked: string[] = [];
    const send = laneTo(asked);
    const outcomes = await Promise.all(silentOrigins.slice(0, 50).map(send));
    expect(asked).toHaveLength(4);
    const waiting = outcomes.filter((outcome) => outcome?.kind === 'waiting');
    const rests = waiting.map((outcome) => outcome.backOffMs ?? 0);
    expect([rests.length, rests[0]]).toEqual([46, 1_000]);
    expect(rests.at(-1)).toBeGreaterThan(5_000);
  });

  it('are asked by one request at a time, and a second later the others wait no longer', async () => {
    const asked: string[] = [];
    const send = laneTo(asked, { reason: 'no answer in time', afterMs: 1_200 });
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => send('https://silent.example')));
    expect(asked).toHaveLength(1);
    expect(outcomes.map((outcome) => outcome?.kind)).toEqual(['unsure', 'waiting', 'waiting', 'waiting', 'waiting']);
  });

  it('are not taken as silent where their connection was closed for others', async () => {
    const asked: string[] = [];
    const send = laneTo(asked, { reason: 'closed', afterMs: 1 });
    for (let request = 0; request < 4; request += 1)
      expect(await send('https://silent.example')).toMatchObject({ kind: 'waiting', backOffMs: 1_000 });
    expect(asked).toHaveLength(4);
  });
});

import { createECDH, randomBytes } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Clock } from '#bootstrap';
import { OutboundClient, OutboundError } from '#outbound';
import type { VendorPush, VendorTarget } from '../vendor.types.js';
import { PushServices } from './push-services.js';
import { WebPushChannel } from './web-push.channel.js';
import { newVapidKeys } from './web-push.crypto.js';

const push: VendorPush = {
  ...{ appId: 'a', objectId: 'p', data: {}, prod: 'prod', keyNo: 0, isRepeat: false },
  message: { body: '{"alert":"hello"}', bodies: {} },
  expiresAt: new Date(Date.now() + 3_600_000),
};

function targetAt(origin: string): VendorTarget {
  const ecdh = createECDH('prime256v1');
  const keys = { p256dh: ecdh.generateKeys('base64url'), auth: randomBytes(16).toString('base64url') };
  const token = JSON.stringify({ endpoint: `${origin}/push/1`, keys });
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
        sparesLane: true,
      });
    expect(await outcomeAt('https://silent.example')).toEqual({ kind: 'waiting', reason: 'no answer', restMs: 5_000 });
    expect(await outcomeAt('https://other.example')).toEqual({ kind: 'accepted' });
    expect(send).toHaveBeenCalledTimes(4);
    vi.advanceTimersByTime(5_001);
    expect(await outcomeAt('https://silent.example')).toMatchObject({ kind: 'unsure' });
    expect(await outcomeAt('https://silent.example')).toMatchObject({ kind: 'waiting', restMs: 10_000 });
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
  ])('sends nothing to a push service for as long as that asks by %i, at most ten minutes', async (status, times) => {
    const send = vi.spyOn(services, 'send').mockImplementation(({ origin }) => {
      const isBusy = origin === 'https://busy.example';
      return Promise.resolve({ status: isBusy ? status : 201, text: '', retryAfter: isBusy ? '3600' : undefined });
    });
    const browsers = channel();
    const outcomeAt = async (origin: string) => (await browsers.send(push, [targetAt(origin)]))[0];
    const asked = { kind: 'later', reason: `status ${status}`, restMs: 3_600_000 };
    for (let count = 0; count < times; count += 1) expect(await outcomeAt('https://busy.example')).toEqual(asked);
    expect(await outcomeAt('https://busy.example')).toEqual({
      kind: 'waiting',
      reason: 'the push service asks for fewer requests',
      restMs: 600_000,
    });
    expect(await outcomeAt('https://other.example')).toEqual({ kind: 'accepted' });
    expect(send).toHaveBeenCalledTimes(times + 1);
    vi.advanceTimersByTime(600_001);
    expect(await outcomeAt('https://busy.example')).toEqual(asked);
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

  it('never dials an internal address', async () => {
    for (const origin of ['https://127.0.0.1', 'https://localhost', 'https://[::1]', 'https://10.0.0.1'])
      expect(await channel().send(push, [targetAt(origin)])).toEqual([
        { kind: 'rejected', reason: 'internal address' },
      ]);
  });
});

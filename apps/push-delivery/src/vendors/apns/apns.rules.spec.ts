import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#contracts';
import type { VendorPush, VendorTarget } from '../vendor-channel.rules.js';
import { apnsMessage, apnsOutcome, apnsTopic, isApnsToken } from './apns.rules.js';

const ID = '652f0c1e8a1b2c3d4e5f6a7b';
const pushOf = (data: JsonObject, apns: { topic?: string } = {}): VendorPush => ({
  appId: 'app',
  objectId: ID,
  data,
  message: { body: JSON.stringify({ ...data, _expiration_time: '2026-12-01T01:00:00.000Z' }), bodies: {}, apns },
  prod: 'prod',
  expiresAt: new Date('2026-12-01T01:00:00Z'),
  keyNo: 0,
  isRepeat: false,
});
const built = (data: JsonObject, badge: number | null = null) => {
  const message = apnsMessage(pushOf(data), 'ios');
  if (typeof message === 'string') throw new Error(message);
  return { headers: message.headers, payload: JSON.parse(message.body(badge)) as unknown };
};
const target: VendorTarget = { objectId: 'i', token: 'ab', platform: 'ios', topic: null, badge: null };

describe('a message for APNs', () => {
  it('has the keys of the API in aps, and all others beside it', () => {
    const data = { alert: 'Lunch is ready', title: 'Canteen', badge: 'Increment', sound: 'default', order: { id: 7 } };
    expect(built(data, 5)).toEqual({
      headers: {
        'apns-push-type': 'alert',
        'apns-priority': '10',
        'apns-expiration': '1796086800',
        'apns-collapse-id': ID,
      },
      payload: {
        aps: { alert: { title: 'Canteen', body: 'Lunch is ready' }, badge: 5, sound: 'default' },
        order: { id: 7 },
      },
    });
  });

  it.each([
    [{ alert: 'text' }, { alert: 'text' }],
    [{ alert: { 'loc-key': 'K' }, title: 'T' }, { alert: { title: 'T', 'loc-key': 'K' } }],
    [
      { alert: 'a', sound: { name: 's', volume: '0.5' } },
      { alert: 'a', sound: { name: 's', volume: 0.5 } },
    ],
    [
      { alert: 'a', 'mutable-content': true, category: 'c' },
      { alert: 'a', category: 'c', 'mutable-content': 1 },
    ],
    [
      { alert: 'a', badge: 0 },
      { alert: 'a', badge: 0 },
    ],
    [{ alert: 'a', aps: null }, { alert: 'a' }],
    [{ alert: 'a', aps: 'text' }, { alert: 'a' }],
  ])('%j has the aps %j', (data, aps) => {
    expect(built(data).payload).toEqual({ aps });
  });

  it('without anything to show goes in the background', () => {
    const { headers, payload } = built({ 'content-available': 1, job: 3 });
    expect(headers).toMatchObject({ 'apns-push-type': 'background', 'apns-priority': '5' });
    expect(payload).toEqual({ aps: { 'content-available': 1 }, job: 3 });
  });

  it('in the form of Apple stays as it is', () => {
    const data = {
      aps: { alert: { body: 'b' }, badge: 'Increment' },
      'collapse-id': 'mine',
      'apns-priority': 5,
      own: 1,
    };
    const { headers, payload } = built(data, 3);
    expect(headers).toMatchObject({ 'apns-collapse-id': 'mine', 'apns-priority': '5' });
    expect(payload).toEqual({ aps: { alert: { body: 'b' }, badge: 3 }, own: 1 });
  });

  it('has the type of the request, with the content that Apple names for it', () => {
    const aps = { timestamp: 1_796_000_000, event: 'update', 'content-state': { score: 2 } };
    const { headers, payload } = built({ aps, 'apns-push-type': 'liveactivity' });
    expect(headers).toMatchObject({ 'apns-push-type': 'liveactivity', 'apns-priority': '10' });
    expect(payload).toEqual({ aps });
  });

  it.each([
    [{ alert: 'a', 'collapse-id': 'a\r\nx: y' }, 'BadCollapseId'],
    [{ alert: 'a', 'collapse-id': 'x'.repeat(65) }, 'BadCollapseId'],
    [{ alert: 'a', 'apns-priority': 7 }, 'BadPriority'],
    [{ alert: 'a', 'apns-push-type': 'toString' }, 'InvalidPushType'],
    [{ alert: 'x'.repeat(4_096) }, 'PayloadTooLarge'],
  ])('%j is refused before Apple is asked', (data, reason) => {
    expect(apnsMessage(pushOf(data), 'ios')).toBe(reason);
  });

  it('goes to the topic of the request, else of the device, else of the team', () => {
    expect(apnsTopic(pushOf({}, { topic: 'com.a' }), { ...target, topic: 'com.b' }, ['com.c'], 'alert')).toBe('com.a');
    expect(apnsTopic(pushOf({}), { ...target, topic: 'com.b' }, ['com.c'], 'voip')).toBe('com.b.voip');
    expect(apnsTopic(pushOf({}), target, ['com.c'], 'liveactivity')).toBe('com.c.push-type.liveactivity');
    expect(apnsTopic(pushOf({}), target, ['com.c'], 'alert')).toBe('com.c');
    expect(apnsTopic(pushOf({}), target, ['com.c', 'com.d'], 'alert')).toBeUndefined();
  });
});

describe('an answer of APNs', () => {
  const answer = (reason: string, more: object = {}) => JSON.stringify({ reason, ...more });

  it.each([
    [200, '', { kind: 'accepted' }],
    [
      410,
      answer('Unregistered', { timestamp: 1_796_000_000_000 }),
      { kind: 'invalid', reason: 'Unregistered', since: new Date(1_796_000_000_000) },
    ],
    [400, answer('BadDeviceToken'), { kind: 'invalid', reason: 'BadDeviceToken', isDoubtful: true }],
    [400, answer('DeviceTokenNotForTopic'), { kind: 'rejected', reason: 'DeviceTokenNotForTopic' }],
    [403, answer('InvalidProviderToken'), { kind: 'credentials', reason: 'InvalidProviderToken' }],
    [403, answer('ReasonOfTomorrow'), { kind: 'credentials', reason: 'ReasonOfTomorrow' }],
    [429, answer('TooManyRequests'), { kind: 'later', reason: 'TooManyRequests', scope: 'device' }],
    [
      429,
      answer('TooManyProviderTokenUpdates'),
      { kind: 'later', reason: 'TooManyProviderTokenUpdates', scope: 'lane', backOffMs: 1_200_000 },
    ],
    [503, answer('ServiceUnavailable'), { kind: 'later', reason: 'ServiceUnavailable', scope: 'lane' }],
    [500, '<html>', { kind: 'later', reason: 'status 500', scope: 'lane' }],
    [418, answer('x'.repeat(99)), { kind: 'rejected', reason: 'status 418' }],
  ])('%i %s means %j', (status, text, outcome) => {
    expect(apnsOutcome(status, text, 'prod')).toEqual(outcome);
  });

  it.each([8_639_999_999_999_999, 253_402_300_800_000, -1, -8_639_999_999_999_999])(
    'with the implausible time %d means a token that is dead since an unknown time',
    (timestamp) => {
      const unregistered = { kind: 'invalid', reason: 'Unregistered' };
      expect(apnsOutcome(410, answer('Unregistered', { timestamp }), 'prod')).toEqual(unregistered);
    },
  );

  it('never makes a token of the environment for development invalid by BadDeviceToken', () => {
    expect(apnsOutcome(400, answer('BadDeviceToken'), 'dev')).toEqual({ kind: 'rejected', reason: 'BadDeviceToken' });
  });

  it('of any bytes has an outcome with a short reason', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), fc.oneof(fc.string(), fc.json()), (status, text) => {
        const outcome = apnsOutcome(status, text, 'prod');
        expect('reason' in outcome ? outcome.reason.length : 0).toBeLessThanOrEqual(40);
      }),
    );
  });
});

describe('a device token', () => {
  it.each([
    ['ab'.repeat(32), true],
    ['AB'.repeat(80), true],
    ['ab', false],
    ['../../x', false],
    ['zz'.repeat(32), false],
    ['ab'.repeat(200), false],
  ])('%s is one: %s', (token, is) => {
    expect(isApnsToken(token)).toBe(is);
  });
});

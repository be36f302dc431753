import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#contracts';
import { fcmMessage, fcmOutcome } from './fcm.channel.js';

const ID = '652f0c1e8a1b2c3d4e5f6a7b';
const NOW = new Date('2026-12-01T00:00:00Z');
const built = (data: JsonObject) =>
  fcmMessage(
    {
      appId: 'app',
      objectId: ID,
      data,
      message: { body: JSON.stringify(data), bodies: {} },
      prod: 'prod',
      expiresAt: new Date('2026-12-01T01:00:00Z'),
      keyNo: 0,
      isRepeat: false,
    },
    NOW,
  );

describe('a message for FCM', () => {
  it('has a notification, and the whole data as the text that the SDK reads', () => {
    const data = { alert: 'Lunch is ready', title: 'Canteen', order: { id: 7 } };
    expect(built(data)).toEqual({
      notification: { title: 'Canteen', body: 'Lunch is ready' },
      data: { payload: JSON.stringify(data) },
      android: { ttl: '3600s', priority: 'HIGH', notification: { tag: ID } },
    });
  });

  it('that is silent shows nothing', () => {
    expect(built({ alert: 'a', silent: true })).toEqual({
      data: { payload: '{"alert":"a","silent":true}' },
      android: { ttl: '3600s', priority: 'NORMAL' },
    });
  });

  it('takes the members of the block over its own', () => {
    const fcm = { title: 'T', android: { collapse_key: 'k', notification: { color: '#00ff00' } }, data: { n: 1 } };
    expect(built({ alert: 'a', _notificationChannel: 'c', fcm })).toMatchObject({
      notification: { title: 'T', body: 'a' },
      data: { n: '1' },
      android: { collapse_key: 'k', notification: { tag: ID, channel_id: 'c', color: '#00ff00' } },
    });
  });

  it('that has data alone, or a notification for Android alone, stays one', () => {
    expect(built({ fcm: { data: { n: 1 } } })).toMatchObject({
      data: { n: '1' },
      android: { ttl: '3600s', priority: 'HIGH' },
    });
    expect(JSON.stringify(built({ _notificationChannel: 'c', fcm: { data: { n: 1 } } }))).not.toContain(
      '"notification"',
    );
    const android = { notification: { title_loc_key: 'k' } };
    expect(built({ fcm: { android } })).toMatchObject({ android: { notification: { tag: ID, title_loc_key: 'k' } } });
  });

  it.each([
    [{ alert: 'a', fcm: { data: { 'google.x': '1' } } }, 'reserved data key'],
    [{ alert: 'a', fcm: { data: { from: '1' } } }, 'reserved data key'],
    [{ alert: 'x'.repeat(2_100) }, 'message too large'],
  ])('%j is refused before FCM is asked', (data, reason) => {
    expect(built(data)).toBe(reason);
  });
});

describe('an answer of FCM', () => {
  const answer = (status: string, errorCode?: string, details: object[] = [], message = '') =>
    JSON.stringify({
      error: { status, message, details: [...(errorCode === undefined ? [] : [{ errorCode }]), ...details] },
    });
  const violating = (...fields: string[]) => ({ fieldViolations: fields.map((field) => ({ field })) });

  it.each([
    [404, answer('NOT_FOUND', 'UNREGISTERED'), undefined, { kind: 'invalid', reason: 'UNREGISTERED' }],
    [
      400,
      answer(
        'INVALID_ARGUMENT',
        'INVALID_ARGUMENT',
        [],
        'The registration token is not a valid FCM registration token',
      ),
      undefined,
      { kind: 'invalid', reason: 'INVALID_ARGUMENT', isDoubtful: true },
    ],
    [
      400,
      answer('INVALID_ARGUMENT', 'INVALID_ARGUMENT', [], 'Android message is too big'),
      undefined,
      { kind: 'rejected', reason: 'message too large' },
    ],
    [
      400,
      answer('INVALID_ARGUMENT', 'INVALID_ARGUMENT', [violating('message.android.ttl')], 'The duration is too large'),
      undefined,
      { kind: 'rejected', reason: 'INVALID_ARGUMENT' },
    ],
    [
      503,
      answer('UNAVAILABLE', undefined, [], 'The response is too large'),
      undefined,
      { kind: 'later', reason: 'UNAVAILABLE', scope: 'lane' },
    ],
    [
      400,
      answer('INVALID_ARGUMENT', 'INVALID_ARGUMENT', [violating('message.token')]),
      undefined,
      { kind: 'invalid', reason: 'INVALID_ARGUMENT', isDoubtful: true },
    ],
    [
      400,
      answer('INVALID_ARGUMENT', 'INVALID_ARGUMENT', [violating('message.token', 'message.android.ttl')]),
      undefined,
      { kind: 'rejected', reason: 'INVALID_ARGUMENT' },
    ],
    [
      400,
      answer('INVALID_ARGUMENT', undefined, [violating('message.data')]),
      undefined,
      { kind: 'rejected', reason: 'INVALID_ARGUMENT' },
    ],
    [
      403,
      answer('PERMISSION_DENIED', 'SENDER_ID_MISMATCH'),
      undefined,
      { kind: 'rejected', reason: 'SENDER_ID_MISMATCH' },
    ],
    [403, answer('PERMISSION_DENIED'), undefined, { kind: 'credentials', reason: 'PERMISSION_DENIED' }],
    [403, '<html>', undefined, { kind: 'credentials', reason: 'status 403' }],
    [401, answer('UNAUTHENTICATED'), undefined, { kind: 'credentials', reason: 'UNAUTHENTICATED' }],
    [
      401,
      answer('UNAUTHENTICATED', 'THIRD_PARTY_AUTH_ERROR'),
      undefined,
      { kind: 'rejected', reason: 'THIRD_PARTY_AUTH_ERROR' },
    ],
    [
      429,
      answer('RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED'),
      30_000,
      { kind: 'later', reason: 'QUOTA_EXCEEDED', scope: 'lane', backOffMs: 30_000 },
    ],
    [
      429,
      answer('RESOURCE_EXHAUSTED'),
      undefined,
      { kind: 'later', reason: 'RESOURCE_EXHAUSTED', scope: 'device', backOffMs: 60_000 },
    ],
    [503, answer('UNAVAILABLE'), undefined, { kind: 'later', reason: 'UNAVAILABLE', scope: 'lane' }],
  ])('%i %s, with a rest of %s ms, means %j', (status, text, backOffMs, outcome) => {
    expect(fcmOutcome(status, text, backOffMs)).toEqual(outcome);
  });

  it('of any bytes has an outcome with a short reason', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), fc.oneof(fc.string(), fc.json()), (status, text) => {
        const outcome = fcmOutcome(status, text, undefined);
        expect('reason' in outcome ? outcome.reason.length : 0).toBeLessThanOrEqual(40);
      }),
    );
  });
});

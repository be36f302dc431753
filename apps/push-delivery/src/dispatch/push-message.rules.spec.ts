import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#contracts';
import { messageOf } from './push-message.rules.js';

const EXPIRES = new Date('2026-01-08T00:00:00.000Z');
const _expiration_time = '2026-01-08T00:00:00.000Z';

function read(data: JsonObject, added: JsonObject = {}) {
  const { message, platforms } = messageOf(data, added, EXPIRES);
  const bodies = Object.entries(message.bodies).map(([platform, body]) => [platform, JSON.parse(body) as unknown]);
  return { body: JSON.parse(message.body) as unknown, bodies: Object.fromEntries(bodies) as unknown, platforms };
}

describe('messageOf', () => {
  it('passes everything through, with the expiry', () => {
    const data = { alert: { title: 't' }, silent: true, 'thread-id': 'x', 'a.b': [null, { $c: 1 }] };
    expect(read(data)).toEqual({ body: { ...data, _expiration_time }, bodies: {}, platforms: undefined });
  });

  it('has its own expiry, whatever the message says', () => {
    expect(read({ _expiration_time: '1999', android: { _expiration_time: '1999' } })).toMatchObject({
      body: { _expiration_time },
      bodies: { android: { _expiration_time } },
    });
  });

  it('lays the block of a platform over what stands beside it', () => {
    expect(read({ alert: 'all', n: 1, android: { alert: 'android' }, ios: { badge: 1 }, mi: { alert: 'mi' } })).toEqual(
      {
        body: { alert: 'all', n: 1, _expiration_time },
        bodies: {
          android: { alert: 'android', n: 1, _expiration_time },
          ios: { alert: 'all', n: 1, badge: 1, _expiration_time },
        },
        platforms: undefined,
      },
    );
  });

  it('is for the platforms that it has something for', () => {
    expect(read({ android: { alert: 'a' }, web: { alert: 'w' } }, { _notificationChannel: 'c' })).toEqual({
      body: { _notificationChannel: 'c', _expiration_time },
      bodies: {
        android: { alert: 'a', _notificationChannel: 'c', _expiration_time },
        web: { alert: 'w', _notificationChannel: 'c', _expiration_time },
      },
      platforms: ['android', 'web'],
    });
  });

  it('takes a platform for an ordinary name where no object stands there', () => {
    expect(read({ web: 'https://example.com', mi: 5 }).body).toEqual({
      web: 'https://example.com',
      mi: 5,
      _expiration_time,
    });
  });

  it('copies the channel beside the message, but not over the one in it', () => {
    expect(read({ _notificationChannel: 'inner' }, { _notificationChannel: 'outer' }).body).toMatchObject({
      _notificationChannel: 'inner',
    });
  });
});

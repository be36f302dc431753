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
  it('keeps all members, and adds the expiry', () => {
    const data = { alert: { title: 't' }, silent: true, 'thread-id': 'x', 'a.b': [null, { $c: 1 }] };
    expect(read(data)).toEqual({ body: { ...data, _expiration_time }, bodies: {}, platforms: undefined });
  });

  it('replaces an expiry in the message', () => {
    expect(read({ _expiration_time: '1999', android: { _expiration_time: '1999' } })).toMatchObject({
      body: { _expiration_time },
      bodies: { android: { _expiration_time } },
    });
  });

  it('overrides common members by the block of a platform', () => {
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

  it('is for the platforms that it has content for', () => {
    expect(read({ android: { alert: 'a' }, web: { alert: 'w' } }, { _notificationChannel: 'c' })).toEqual({
      body: { _notificationChannel: 'c', _expiration_time },
      bodies: {
        android: { alert: 'a', _notificationChannel: 'c', _expiration_time },
        web: { alert: 'w', _notificationChannel: 'c', _expiration_time },
      },
      platforms: ['android', 'web'],
    });
  });

  it('treats the name of a platform as an ordinary member if its value is no object', () => {
    expect(read({ web: 'https://example.com', mi: 5 }).body).toEqual({
      web: 'https://example.com',
      mi: 5,
      _expiration_time,
    });
  });

  it('copies the channel beside the message, unless the message has one', () => {
    expect(read({ _notificationChannel: 'inner' }, { _notificationChannel: 'outer' }).body).toMatchObject({
      _notificationChannel: 'inner',
    });
  });
});

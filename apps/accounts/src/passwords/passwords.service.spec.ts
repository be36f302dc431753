import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#contracts';
import { parseCredentials } from './passwords.service.js';

describe('parseCredentials', () => {
  it.each<[JsonObject, string, string]>([
    [{ username: 'ada', password: 'p' }, 'username', 'ada'],
    [{ email: 'a@b.co', password: 'p' }, 'email', 'a@b.co'],
    [{ mobilePhoneNumber: '13912345678', password: 'p' }, 'mobilePhoneNumber', '+8613912345678'],
    [{ username: 'ada', email: 'a@b.co', mobilePhoneNumber: '1', password: 'p' }, 'username', 'ada'],
    [{ username: null, email: 'a@b.co', mobilePhoneNumber: '1', password: 'p' }, 'email', 'a@b.co'],
  ])('reads %j', (body, identifier, value) => {
    expect(parseCredentials(body)).toEqual({ identifier, value, password: 'p' });
  });

  it.each<[JsonObject, string]>([
    [{}, 'USERNAME_MISSING'],
    [{ username: '', password: 'p' }, 'USERNAME_MISSING'],
    [{ username: 'a' }, 'PASSWORD_MISSING'],
    [{ username: 'a', password: '' }, 'PASSWORD_MISSING'],
    [{ username: 'a', password: 7 }, 'INVALID_PASSWORD'],
    [{ username: 'a', password: 'p\ud800' }, 'INVALID_PASSWORD'],
    [{ username: { $ne: '' }, password: 'p' }, 'INVALID_USERNAME'],
    [{ email: ['a'], password: 'p' }, 'INVALID_EMAIL'],
    [{ mobilePhoneNumber: {}, password: 'p' }, 'INVALID_PHONE'],
    [{ mobilePhoneNumber: 'x', password: 'p' }, 'INVALID_PHONE'],
  ])('refuses %j', (body, errorName) => {
    expect(() => parseCredentials(body)).toThrow(expect.objectContaining({ errorName }) as Error);
  });
});

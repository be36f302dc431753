import { describe, expect, it } from 'vitest';
import { catchUpSeconds, isMailAddress, isOutdated, linkOf, needsSmtpUtf8 } from './mail.rules.js';

describe('isMailAddress', () => {
  it.each(['ada@example.com', "o'neil+tag@mail.example.co", 'kim@bücher.example', '用户@例子.中国', 'a@localhost'])(
    'takes %s',
    (address) => {
      expect(isMailAddress(address)).toBe(true);
    },
  );

  it.each([
    '',
    'ada',
    '@example.com',
    'ada@',
    'a@b@c.example',
    'a@example.com,b@example.com',
    'a@example.com;b@example.com',
    'Ada <a@example.com>',
    '"a b"@example.com',
    'a b@example.com',
    'a@example.com\r\nBcc: b@example.com',
    'a@example.com\u0000',
    'a@[127.0.0.1]',
    'group:a@example.com',
    `${'a'.repeat(65)}@example.com`,
  ])('refuses %j', (address) => {
    expect(isMailAddress(address)).toBe(false);
  });
});

describe('needsSmtpUtf8', () => {
  it.each([
    ['ada@example.com', false],
    ['kim@bücher.example', false],
    ['用户@example.com', true],
  ])('%s: %s', (address, expected) => {
    expect(needsSmtpUtf8(address)).toBe(expected);
  });
});

describe('linkOf', () => {
  const base = 'https://accounts.example.com/gatepost';

  it.each([
    ['verifyEmail', null, `${base}/pages/verify-email?token=t0`],
    ['resetPassword', null, `${base}/pages/reset-password?token=t0`],
    ['verifyEmail', 'https://shop.example/verify', 'https://shop.example/verify?token=t0'],
    ['resetPassword', 'https://shop.example/?page=reset', 'https://shop.example/?page=reset&token=t0'],
  ] as const)('of %s with the page %s is %s', (kind, pageUrl, link) => {
    expect(linkOf({ kind, pageUrl, token: 't0' }, base)).toBe(link);
  });
});

describe('catchUpSeconds', () => {
  const requestedAt = '2026-01-01T00:00:00.000Z';

  it.each([
    [0, 0],
    [5_000, 0],
    [5_001, 5],
    [-3_000, 0],
  ])('of a request that is %i ms old: %i', (ageMs, expected) => {
    expect(catchUpSeconds({ requestedAt }, new Date(Date.parse(requestedAt) + ageMs))).toBe(expected);
  });
});

describe('isOutdated', () => {
  const request = { email: 'a@example.com', userUpdatedAt: '2026-01-01T00:00:00.000Z' };
  const at = (email: string | null, time: string) => ({ email, changedAt: new Date(time) });

  it.each([
    ['nothing is known', undefined, false],
    ['the address was changed before', at('b@example.com', '2025-12-31T23:59:59.999Z'), false],
    ['it was asked for with the change itself', at('a@example.com', '2026-01-01T00:00:00.000Z'), false],
    ['the address was changed afterwards', at('b@example.com', '2026-01-01T00:00:00.001Z'), true],
    ['the user is gone, or has no address', at(null, '2026-01-01T00:00:00.001Z'), true],
    ['the later address is the same', at('a@example.com', '2026-01-01T00:00:00.001Z'), false],
  ])('%s: %s', (_, lastChange, expected) => {
    expect(isOutdated(request, lastChange)).toBe(expected);
  });
});

import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#contracts';
import { parseEmail, parsePhoneNumber, parseUsername } from './user-identifier.rules.js';

describe('parseUsername', () => {
  it.each(['a', 'Ada Lovelace', '名前', 'a@b', 'u'.repeat(255)])('takes %.20j', (value) => {
    expect(parseUsername(value)).toBe(value);
  });

  it.each<JsonValue>(['', ' ', '\t\n', 'u'.repeat(256), 'a\0', '\ud83d', 7, null, true, [], {}, { $ne: 1 }])(
    'refuses %.20j',
    (value) => {
      expect(() => parseUsername(value)).toThrow(expect.objectContaining({ errorName: 'INVALID_USERNAME' }) as Error);
    },
  );
});

describe('parseEmail', () => {
  it.each([
    'a@b.co',
    'First.Last+tag@sub.example.museum',
    'ä@exämple.de',
    "o'neil@example.com",
    'ada@例子.公司',
    '用户@例子.公司',
    'ada@xn--fiq228c.example',
    'ada@a.b.c.d.example',
    `${'l'.repeat(64)}@example.com`,
  ])('takes %j', (value) => {
    expect(parseEmail(value)).toBe(value);
  });

  it.each<JsonValue>([
    'a',
    '@b.co',
    'a@',
    'a@b',
    'a@b@c.de',
    'a b@c.de',
    'a@b.c',
    'a@b..',
    'a@b.co\n',
    'a@b.co\r\nBcc: x@y.zz',
    'a@b.co,x@y.zz',
    '"a"@b.co',
    '<a@b.co>',
    `${'l'.repeat(65)}@example.com`,
    `a@${'d'.repeat(250)}.com`,
    'a\0@b.co',
    'a@b..co',
    'a@.b.co',
    'a@b.co.',
    'a@-b.co',
    'a@b-.co',
    'a@b_c.co',
    'a@127.0.0.11',
    'a@[127.0.0.1]',
    'a@b.co\u2028',
    'a\u200b@b.co',
    'a@b.co\u202e',
    'a@b.co，x@y.zz',
    'a＠x.yy@b.co',
    'a@b．．co',
    'a@b.co；x',
    7,
    null,
    {},
    ['a@b.co'],
  ])('refuses %j', (value) => {
    expect(() => parseEmail(value)).toThrow(expect.objectContaining({ errorName: 'INVALID_EMAIL' }) as Error);
  });

  it('is quick with texts made to be slow', () => {
    const startedAt = performance.now();
    expect(() => parseEmail(`${'a.'.repeat(120)}@`)).toThrow();
    expect(() => parseEmail(`a@${'b-'.repeat(120)}.co`)).toThrow();
    expect(() => parseEmail(`a@${'b.'.repeat(125)}`)).toThrow();
    expect(() => parseEmail('\ufdfa'.repeat(100_000))).toThrow();
    expect(performance.now() - startedAt).toBeLessThan(500);
  });
});

describe('parsePhoneNumber', () => {
  it.each([
    ['+8613912345678', '+8613912345678'],
    ['+14155550100', '+14155550100'],
    ['13912345678', '+8613912345678'],
  ])('reads %s as %s', (given, expected) => {
    expect(parsePhoneNumber(given)).toBe(expected);
  });

  it.each<JsonValue>([
    '+0123456789',
    '+',
    '++8613912345678',
    '12345',
    '+86 139 1234',
    '１３９１２３４５６７８',
    'x',
    '',
    13_912_345_678,
    null,
    {},
    [],
  ])('refuses %j', (value) => {
    expect(() => parsePhoneNumber(value)).toThrow(expect.objectContaining({ errorName: 'INVALID_PHONE' }) as Error);
  });
});

import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '#contracts';
import { parseEmail, parsePassword, parsePhoneNumber, parseUsername, userClass } from './user.class.js';

const ADA = { __type: 'Pointer', className: '_User', objectId: 'a1' };
const nested = (depth: number): JsonObject => (depth === 0 ? {} : { a: nested(depth - 1) });

describe('userClass.parse', () => {
  it('separates built-in fields from changes of custom ones', () => {
    const fields = {
      username: 'ada',
      password: 'p',
      email: 'ada@example.com',
      mobilePhoneNumber: '13912345678',
      ACL: { '*': { read: true } },
      color: 'red',
      size: { __op: 'Delete' },
      'stats.wins': { __op: 'Increment', amount: 1 },
    } satisfies JsonObject;
    expect(userClass.parse(fields, false)).toEqual({
      username: 'ada',
      password: 'p',
      email: 'ada@example.com',
      mobilePhoneNumber: '+8613912345678',
      acl: { '*': { read: true } },
      custom: [
        { path: ['color'], operation: { kind: 'set', value: 'red' } },
        { path: ['size'], operation: { kind: 'delete' } },
        { path: ['stats', 'wins'], operation: { kind: 'increment', amount: 1 } },
      ],
    });
  });

  it.each([null, '', { __op: 'Delete' }])('reads %j as "no address" and "no number"', (value) => {
    expect(userClass.parse({ email: value, mobilePhoneNumber: value }, false)).toMatchObject({
      email: null,
      mobilePhoneNumber: null,
    });
  });

  it('keeps every JSON value as it is', () => {
    const values = {
      a: 0,
      b: -1.5,
      c: '',
      d: [],
      e: {},
      f: null,
      g: false,
      h: [[{ x: [1, '2', null] }]],
      i: '😀\u2028',
    };
    const set = userClass.parse(values, false).custom.map(({ path, operation }) => [path[0], operation]);
    expect(set).toEqual(Object.entries(values).map(([key, value]) => [key, { kind: 'set', value }]));
  });

  it.each<[JsonObject, string]>([
    [{ objectId: 'x' }, 'READ_ONLY_KEY'],
    [{ createdAt: null }, 'READ_ONLY_KEY'],
    [{ updatedAt: { __op: 'Delete' } }, 'READ_ONLY_KEY'],
    [{ sessionToken: 'x' }, 'READ_ONLY_KEY'],
    [{ salt: 'x' }, 'READ_ONLY_KEY'],
    [{ emailVerified: true }, 'READ_ONLY_KEY'],
    [{ mobilePhoneVerified: true }, 'READ_ONLY_KEY'],
    [{ constructor: 1 }, 'INVALID_KEY_NAME'],
    [JSON.parse('{"__proto__": 1}') as JsonObject, 'INVALID_KEY_NAME'],
    ...['username', 'password', 'email', 'mobilePhoneNumber', 'ACL', 'emailVerified'].map(
      (key): [JsonObject, string] => [{ [`${key}.x`]: 1 }, 'INVALID_KEY_NAME'],
    ),
    ...['objectId', 'createdAt', 'updatedAt', 'sessionToken', 'salt', 'className'].map((key): [JsonObject, string] => [
      { [`${key}.x`]: { __op: 'Delete' } },
      'READ_ONLY_KEY',
    ]),
    ...['username', 'password', 'email', 'mobilePhoneNumber', 'ACL'].flatMap((key): [JsonObject, string][] => [
      [{ [key]: { __op: 'Increment', amount: 1 } }, 'INCORRECT_TYPE'],
      [{ [key]: { __op: 'Batch', ops: [{ __op: 'Delete' }] } }, 'INCORRECT_TYPE'],
      [{ [key]: { __op: 'Explode' } }, 'INCORRECT_TYPE'],
    ]),
    [{ username: { __op: 'Delete' } }, 'INCORRECT_TYPE'],
    [{ password: { __op: 'Delete' } }, 'INCORRECT_TYPE'],
    [{ emailVerified: { __op: 'Delete' } }, 'READ_ONLY_KEY'],
    [{ 'authData.weixin': { openid: 'x' } }, 'INVALID_IDENTITY'],
    [{ 'authData.weixin': { __op: 'Delete' } }, 'INVALID_IDENTITY'],
    [{ friends: { __op: 'AddRelation', objects: [ADA] } }, 'INCORRECT_TYPE'],
    [{ friends: { __op: 'Batch', ops: [{ __op: 'RemoveRelation', objects: [ADA] }] } }, 'INCORRECT_TYPE'],
    [{ 'a.__proto__.b': 1 }, 'INVALID_KEY_NAME'],
    [{ 'a.b': 1, a: 1 }, 'INVALID_KEY_NAME'],
    [{ _a: 1 }, 'INVALID_KEY_NAME'],
    [{ ä: 1 }, 'INVALID_KEY_NAME'],
    [{ a: { b: { prototype: 1 } } }, 'INVALID_KEY_NAME'],
    [{ a: [{ $gt: 1 }] }, 'INVALID_NESTED_KEY'],
    [{ a: { 'b.c': 1 } }, 'INVALID_NESTED_KEY'],
    [{ a: { __op: 'Increment', amount: 'x' } }, 'INCORRECT_TYPE'],
    [{ a: { b: { __op: 'Delete' } } }, 'INCORRECT_TYPE'],
    [{ a: 'x\0' }, 'INCORRECT_TYPE'],
    [{ a: ['\ud800'] }, 'INCORRECT_TYPE'],
    [{ a: Number.POSITIVE_INFINITY }, 'INCORRECT_TYPE'],
    [{ a: nested(33) }, 'INCORRECT_TYPE'],
    [{ username: 7 }, 'INVALID_USERNAME'],
    [{ password: '' }, 'INVALID_PASSWORD'],
    [{ password: ' \t\n' }, 'INVALID_PASSWORD'],
    [{ email: 'no-address' }, 'INVALID_EMAIL'],
    [{ mobilePhoneNumber: 'abc' }, 'INVALID_PHONE'],
    [{ ACL: 'public' }, 'INVALID_ACL'],
    [{ ACL: { '*': { read: true }, _owner: { write: true } } }, 'INVALID_ACL'],
  ])('refuses %j', (fields, errorName) => {
    expect(() => userClass.parse(fields, false)).toThrow(expect.objectContaining({ errorName }) as Error);
  });

  it('lets the master key set verification states, as true or false only', () => {
    expect(userClass.parse({ emailVerified: true, mobilePhoneVerified: false }, true)).toMatchObject({
      emailVerified: true,
      mobilePhoneVerified: false,
    });
    expect(() => userClass.parse({ emailVerified: 'true' }, true)).toThrow(
      expect.objectContaining({ errorName: 'INCORRECT_TYPE' }) as Error,
    );
    expect(() => userClass.parse({ objectId: 'x' }, true)).toThrow(
      expect.objectContaining({ errorName: 'READ_ONLY_KEY' }) as Error,
    );
  });

  it('refuses authData, and ignores an empty one', () => {
    expect(userClass.parse({ authData: {} }, false)).toEqual({ custom: [] });
    expect(userClass.parse({ authData: null }, false)).toEqual({ custom: [] });
    for (const authData of ['x', 7, [], [1], { weixin: {} }]) {
      expect(() => userClass.parse({ authData }, false)).toThrow();
    }
  });

  it('contains in its text nothing that a terminal or a page could act on', () => {
    const key = `\u001b[31m<script>${'x'.repeat(200)}`;
    try {
      userClass.parse({ [key]: 1 }, false);
      expect.unreachable();
    } catch (error) {
      expect((error as Error).message).not.toContain('\u001b');
      expect((error as Error).message.length).toBeLessThan(250);
    }
  });
});

describe('parsePassword', () => {
  it.each([undefined, null, '', ' ', 7, true, {}, ['p'], 'p\ud800', '\udc00p'])('refuses %j', (value) => {
    expect(() => parsePassword(value)).toThrow(expect.objectContaining({ errorName: 'INVALID_PASSWORD' }) as Error);
  });

  it('takes every other text, spaces and NUL bytes included', () => {
    for (const text of [' p ', '\0', 'ä😀', 'x'.repeat(1000)]) expect(parsePassword(text)).toBe(text);
  });
});

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

  it('refuses hostile texts in time', () => {
    expect(() => parseEmail(`${'a.'.repeat(120)}@`)).toThrow();
    expect(() => parseEmail(`a@${'b-'.repeat(120)}.co`)).toThrow();
    expect(() => parseEmail(`a@${'b.'.repeat(125)}`)).toThrow();
    expect(() => parseEmail('\ufdfa'.repeat(100_000))).toThrow();
  });
});

describe('parsePhoneNumber', () => {
  it.each([
    ['+8613912345678', '+8613912345678'],
    ['+14155550100', '+14155550100'],
    ['13912345678', '+8613912345678'],
    ['8613912345678', '+8613912345678'],
    ['861234567', '+86861234567'],
    ['+868613912345678', '+8613912345678'],
    ['+86861391234567', '+86861391234567'],
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

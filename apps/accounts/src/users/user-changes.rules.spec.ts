import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#contracts';
import { parsePassword, parseUserChanges } from './user-changes.rules.js';

const ADA = { __type: 'Pointer', className: '_User', objectId: 'a1' };
const nested = (depth: number): JsonObject => (depth === 0 ? {} : { a: nested(depth - 1) });

describe('parseUserChanges', () => {
  it('tells own fields from changes of custom ones', () => {
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
    expect(parseUserChanges(fields, false)).toEqual({
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

  it.each([null, '', { __op: 'Delete' }])('takes %j for "no address" and "no number"', (value) => {
    expect(parseUserChanges({ email: value, mobilePhoneNumber: value }, false)).toMatchObject({
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
    const set = parseUserChanges(values, false).custom.map(({ path, operation }) => [path[0], operation]);
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
    [{ email: 'nobody' }, 'INVALID_EMAIL'],
    [{ mobilePhoneNumber: 'abc' }, 'INVALID_PHONE'],
    [{ ACL: 'public' }, 'INVALID_ACL'],
  ])('refuses %j', (fields, errorName) => {
    expect(() => parseUserChanges(fields, false)).toThrow(expect.objectContaining({ errorName }) as Error);
  });

  it('lets the master key say what is verified, as true or false only', () => {
    expect(parseUserChanges({ emailVerified: true, mobilePhoneVerified: false }, true)).toMatchObject({
      emailVerified: true,
      mobilePhoneVerified: false,
    });
    expect(() => parseUserChanges({ emailVerified: 'true' }, true)).toThrow(
      expect.objectContaining({ errorName: 'INCORRECT_TYPE' }) as Error,
    );
    expect(() => parseUserChanges({ objectId: 'x' }, true)).toThrow(
      expect.objectContaining({ errorName: 'READ_ONLY_KEY' }) as Error,
    );
  });

  it('never lets authData through, and takes an empty one for none', () => {
    expect(parseUserChanges({ authData: {} }, false)).toEqual({ custom: [] });
    expect(parseUserChanges({ authData: null }, false)).toEqual({ custom: [] });
    for (const authData of ['x', 7, [], [1], { weixin: {} }]) {
      expect(() => parseUserChanges({ authData }, false)).toThrow();
    }
  });

  it('shows in its text nothing that a terminal or a page could act on', () => {
    const key = `\u001b[31m<script>${'x'.repeat(200)}`;
    try {
      parseUserChanges({ [key]: 1 }, false);
      expect.unreachable();
    } catch (error) {
      expect((error as Error).message).not.toContain('\u001b');
      expect((error as Error).message.length).toBeLessThan(250);
    }
  });
});

describe('parsePassword', () => {
  it.each([undefined, null, '', ' ', 7, true, {}, ['p']])('refuses %j', (value) => {
    expect(() => parsePassword(value)).toThrow(expect.objectContaining({ errorName: 'INVALID_PASSWORD' }) as Error);
  });

  it('takes every other text, spaces and NUL bytes included', () => {
    for (const text of [' p ', '\0', 'ä😀', 'x'.repeat(1000)]) expect(parsePassword(text)).toBe(text);
  });
});

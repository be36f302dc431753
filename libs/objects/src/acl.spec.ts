import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#contracts';
import { grants, parseAcl } from './values.js';

describe('parseAcl', () => {
  it.each<JsonValue>([
    {},
    { '*': { read: true } },
    { abc123: { read: true, write: true } },
    { 'role:editors': { write: true } },
  ])('takes %j', (value) => {
    expect(parseAcl(value)).toEqual(value);
  });

  // The SDKs for Flutter, C#, PHP and Java send what is not granted as false.
  it.each<[JsonValue, JsonValue]>([
    [
      { '*': { read: true, write: false }, owner: { read: true, write: true } },
      { '*': { read: true }, owner: { read: true, write: true } },
    ],
    [{ '*': { read: false, write: false }, owner: { write: true } }, { owner: { write: true } }],
    [{ '*': { read: false } }, {}],
    [{ '*': {} }, {}],
  ])('leaves out of %j what grants nothing', (value, stored) => {
    expect(parseAcl(value)).toEqual(stored);
  });

  it.each<JsonValue>([
    null,
    [],
    'public',
    7,
    { '*': null },
    { '*': true },
    { '*': ['read'] },
    { '*': { read: 'true' } },
    { '*': { read: 1 } },
    { '*': { execute: true } },
    { '': { read: true } },
    { 'role:': { read: true } },
    { 'a b': { read: true } },
    { ['x'.repeat(65)]: { read: true } },
    Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`u${index}`, { read: true }])),
  ])('refuses %.60j', (value) => {
    expect(() => parseAcl(value)).toThrow(expect.objectContaining({ errorName: 'INVALID_ACL' }) as Error);
  });
});

describe('grants', () => {
  const acl = { '*': { read: true }, owner: { write: true }, 'role:editors': { write: true } } as const;

  it.each<[Parameters<typeof grants>, boolean]>([
    [[null, 'write', []], true],
    [[{}, 'read', ['*', 'owner']], false],
    [[acl, 'read', ['*']], true],
    [[acl, 'write', ['*']], false],
    [[acl, 'write', ['*', 'owner']], true],
    [[acl, 'write', ['*', 'other']], false],
    [[acl, 'write', ['*', 'other', 'role:editors']], true],
    [[acl, 'write', ['*', 'editors', 'role:Editors']], false],
    [[acl, 'write', ['__proto__', 'constructor']], false],
  ])('%j: %s', (args, isGranted) => {
    expect(grants(...args)).toBe(isGranted);
  });
});

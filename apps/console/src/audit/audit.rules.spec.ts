import { describe, expect, it } from 'vitest';
import type { Undo } from '#console-api';
import { isConcealedSetting } from '#contracts';
import { bounded, changeOf, storableUndo } from './audit.rules.js';

describe('the change of an entry', () => {
  it.each(['testPhones', 'forwardSecret'])('has no value of the setting %s', (name) => {
    const isSecret = (member: string) => member === 'value' && isConcealedSetting(name);
    expect(changeOf({ value: 'a secret' }, isSecret)).toEqual({ value: '(changed)' });
  });

  it('has the values of other settings', () => {
    expect(isConcealedSetting('name')).toBe(false);
    expect(changeOf({ value: 'Shop' })).toEqual({ value: 'Shop' });
  });

  it('has no password, token or linked account of a user', () => {
    const changes = { level: 1, password: 'p', sessionToken: 't', authData: { weixin: { access_token: 'a' } } };
    expect(changeOf({ changes, oldPassword: 'o' })).toEqual({
      changes: { level: 1, password: '(changed)', sessionToken: '(changed)', authData: '(changed)' },
      oldPassword: '(changed)',
    });
  });

  it('keeps names and short values where others are long', () => {
    const change = bounded({ changes: { email: 'x@evil.example', pad: 'y'.repeat(100_000) } });
    expect(change).toEqual({ changes: { email: 'x@evil.example', pad: `${'y'.repeat(200)}… (100000 characters)` } });
  });

  it('is not cut within a character, which PostgreSQL would refuse', () => {
    const cutWithin = `${'n'.repeat(199)}😀`;
    const change = bounded({ [cutWithin]: 1, text: cutWithin + 'y'.repeat(100_000) });
    expect(change).toEqual({ [`${'n'.repeat(199)}\uFFFD`]: 1, text: `${'n'.repeat(199)}\uFFFD… (100201 characters)` });
  });

  it.each([
    ['many members', Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`${n}${'n'.repeat(300)}`, n]))],
    ['many items', { list: Array.from({ length: 2_000 }, () => ({ a: ['b'.repeat(1_000)] })) }],
    ['many objects', { a: Object.fromEntries(Array.from({ length: 60 }, (_, n) => [n, 'c'.repeat(5_000)])), d: 1 }],
  ])('is short for %s', (_, value) => {
    expect(JSON.stringify(bounded(value)).length).toBeLessThanOrEqual(65_536);
  });
});

describe('the undo of an entry', () => {
  const undoOf = (changes: Readonly<Record<string, unknown>>): Undo => ({
    action: 'changeUser',
    params: { appId: 'shop', userId: 'u1' },
    body: { changes, former: { level: 2 } },
  });
  const long = { first: 'a'.repeat(40_000), second: 'b'.repeat(40_000) };

  it('is stored where the entry holds its values as they are', () => {
    expect(storableUndo(undoOf({ level: 1, bio: '(changed)' }))).toEqual(undoOf({ level: 1, bio: '(changed)' }));
  });

  it.each([
    ['a secret field', { token: 't' }],
    ['the address of a device', { device: { deviceToken: 'd' } }],
    ['values that are too long', long],
    ['a name that is too long', { ['n'.repeat(70_000)]: 1 }],
  ])('is not stored with %s', (_, changes) => {
    expect(storableUndo(undoOf(changes))).toBeNull();
  });
});

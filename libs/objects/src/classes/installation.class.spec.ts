import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#contracts';
import { applyChanges } from '../operations/apply-changes.js';
import { installationClass } from './installation.class.js';

const refusal = (errorName: string) => expect.objectContaining({ errorName }) as Error;

describe('installationClass.parse', () => {
  it('separates identity, state and ACL from the other fields', () => {
    const ACL = { '*': { read: true } };
    const fields = { installationId: 'i', deviceType: 'ios', deviceToken: 't', valid: false, ACL, level: 1 };
    expect(installationClass.parse(fields, false)).toEqual({
      installationId: 'i',
      deviceType: 'ios',
      deviceToken: 't',
      valid: false,
      acl: ACL,
      custom: [{ path: ['level'], operation: { kind: 'set', value: 1 } }],
    });
  });

  it.each([null, '', { __op: 'Delete' }])('reads %j as no value', (nothing) => {
    const changes = installationClass.parse(
      { installationId: nothing, deviceType: nothing, deviceToken: nothing },
      false,
    );
    expect(changes).toEqual({ installationId: null, deviceType: null, deviceToken: null, custom: [] });
  });

  it.each([
    [{ badge: 3 }, -1, 2],
    [{ badge: 3 }, -5, 0],
    [{}, -1, 0],
    [{}, 2, 2],
  ])('changes the badge of %j by %i to %i: none is negative', (stored, amount, badge) => {
    const { custom } = installationClass.parse({ badge: { __op: 'Increment', amount } }, false);
    expect(applyChanges(stored, custom)).toEqual({ badge });
  });

  it.each(['badge', 'registrationId', 'vendor', 'webPush'])('removes %s where it is null', (name) => {
    expect(installationClass.parse({ [name]: null }, false).custom).toEqual([
      { path: [name], operation: { kind: 'delete' } },
    ]);
  });

  it('applies several operations on channels in order', () => {
    const ops = [
      { __op: 'AddUnique', objects: ['a'] },
      { __op: 'Remove', objects: ['b'] },
    ];
    expect(installationClass.parse({ channels: { __op: 'Batch', ops } }, false).custom).toEqual([
      { path: ['channels'], operation: { kind: 'addUnique', objects: ['a'] } },
      { path: ['channels'], operation: { kind: 'remove', objects: ['b'] } },
    ]);
  });

  it.each<[string, JsonObject]>([
    ['INCORRECT_TYPE', { installationId: 'a\u0000b' }],
    ['INCORRECT_TYPE', { installationId: ' \t' }],
    ['INCORRECT_TYPE', { installationId: 7 }],
    ['INCORRECT_TYPE', { installationId: { __op: 'Add', objects: ['a'] } }],
    ['INCORRECT_TYPE', { deviceType: '1' }],
    ['INVALID_DEVICE_TOKEN', { deviceToken: { __op: 'Increment' } }],
    ['INCORRECT_TYPE', { valid: null }],
    ['INCORRECT_TYPE', { ACL: { __op: 'Add', objects: [] } }],
    ['INVALID_CHANNEL', { channels: { __op: 'Batch', ops: [{ __op: 'Remove', objects: ['a b'] }] } }],
    ['INCORRECT_TYPE', { channels: { __op: 'BitOr', value: 1 } }],
    ['INVALID_KEY_NAME', { 'channels.0': 'a' }],
    ['INVALID_KEY_NAME', { 'valid.a': true }],
    ['READ_ONLY_KEY', { 'createdAt.iso': 'now' }],
    [
      'INCORRECT_TYPE',
      { users: { __op: 'AddRelation', objects: [{ __type: 'Pointer', className: 'A', objectId: 'b' }] } },
    ],
  ])('says %s to %j', (errorName, fields) => {
    expect(() => installationClass.parse(fields, false)).toThrow(refusal(errorName));
  });
});

describe('installationClass.parseNew', () => {
  it('may name the object, or leave it out', () => {
    expect(installationClass.parseNew({ objectId: 'a1' }, false)).toEqual({ objectId: 'a1', changes: { custom: [] } });
    for (const objectId of [null, ''])
      expect(installationClass.parseNew({ objectId }, false)).toEqual({ changes: { custom: [] } });
    for (const objectId of [7, 'a!', 'x'.repeat(65), { __op: 'Increment' }])
      expect(() => installationClass.parseNew({ objectId }, false)).toThrow(refusal('READ_ONLY_KEY'));
  });
});

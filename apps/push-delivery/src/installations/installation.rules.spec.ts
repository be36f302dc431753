import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#contracts';
import { type InstallationChanges, installationClass, type InstallationRow, newRow } from '#objects';
import {
  applyChanges,
  identityOf,
  type InstallationIdentity,
  registeredAmong,
  savedIdentity,
} from './installation.rules.js';

const NOW = new Date('2026-01-01T00:00:00.000Z');
const row = (objectId: string, fields: Partial<InstallationRow>): InstallationRow => ({
  ...newRow(installationClass, objectId, NOW),
  ...fields,
});

describe('registeredAmong', () => {
  const named = row('named', { installationId: 'i' });
  const token = { deviceType: 'ios', deviceToken: 't' };
  const byToken = row('by token', token);
  const reinstalled = row('reinstalled', { ...token, installationId: 'old' });

  it.each<[string, InstallationRow[], InstallationIdentity, InstallationRow | undefined]>([
    ['nothing where there is nothing', [], { installationId: 'i' }, undefined],
    ['the one of the name before the one of the token', [byToken, named], { installationId: 'i', ...token }, named],
    [
      'the one of the name before the one of the id',
      [byToken, named],
      { installationId: 'i', objectId: 'by token' },
      named,
    ],
    ['the one of the token', [byToken], { installationId: 'i', ...token }, byToken],
    ['the one of the token, under a new name', [reinstalled], { installationId: 'new', ...token }, reinstalled],
    ['the one of the id', [named], { objectId: 'named', ...token }, named],
    ['the one of the id before the one of the token', [byToken, named], { objectId: 'named', ...token }, named],
    ['no other device by an id from a backup', [named], { objectId: 'named', installationId: 'new' }, undefined],
    ['none by the token of another type', [byToken], { deviceType: 'tvos', deviceToken: 't' }, undefined],
    ['none without a token', [named], { deviceType: null, deviceToken: null }, undefined],
  ])('finds %s', (_, found, identity, expected) => {
    expect(registeredAmong(found, identity)).toBe(expected);
  });
});

const set = (name: string, value: JsonValue) => ({
  custom: [{ path: [name], operation: { kind: 'set', value } }] as const,
});
const remove = (name: string) => ({ custom: [{ path: [name], operation: { kind: 'delete' } }] as const });

describe('savedIdentity', () => {
  const saved = (vendor: string) => row('a', { installationId: 'i', fields: { vendor, registrationId: 'r' } });

  it.each([set('registrationId', 'r'), set('vendor', 'HMS')])('has the token of the vendor after %j', (changes) => {
    expect(savedIdentity(saved('HMS'), changes)).toMatchObject({ vendor: 'hms', registrationId: 'r' });
  });

  it.each<[string, InstallationRow, InstallationChanges]>([
    ['the own channel', saved('LC'), set('vendor', 'LC')],
    ['a vendor without a token', row('a', { fields: { vendor: 'fcm' } }), set('vendor', 'fcm')],
    ['a token without a vendor', row('a', { fields: { registrationId: 'r' } }), remove('vendor')],
    ['another field', saved('fcm'), set('level', 1)],
  ])('has no token for %s', (_, installation, changes) => {
    const identity = savedIdentity(installation, changes);
    expect(identity).not.toHaveProperty('vendor');
    expect(identity).not.toHaveProperty('registrationId');
  });
});

describe('identityOf', () => {
  it.each<[InstallationChanges, string | undefined]>([
    [set('registrationId', 'r'), 'r'],
    [remove('registrationId'), undefined],
    [set('vendor', 'fcm'), undefined],
  ])('reads %j', (changes, registrationId) => {
    expect(identityOf({ installationId: 'i', ...changes }, 'o')).toMatchObject({
      objectId: 'o',
      installationId: 'i',
      registrationId,
    });
  });
});

describe('applyChanges', () => {
  const current = row('a', { installationId: 'i', fields: { level: 1 } });

  it('changes only the named fields', () => {
    const custom = [{ path: ['level'], operation: { kind: 'increment', amount: 2 } }] as const;
    expect(applyChanges(current, { valid: false, custom })).toEqual({ ...current, valid: false, fields: { level: 3 } });
  });

  const dead = { valid: false, invalidReason: 'fcm: UNREGISTERED' };
  it.each<[string, InstallationChanges]>([
    ['a registration id', set('registrationId', 'r')],
    ['the vendor of the own channel', set('vendor', 'lc')],
    ['no vendor', remove('vendor')],
    ['a subscription', set('webPush', {})],
    ['no subscription', remove('webPush')],
    ['a device token', { deviceType: 'ios', deviceToken: 't', custom: [] }],
    ['no device token', { deviceToken: null, custom: [] }],
  ])('with %s revokes the verdict of a push service', (_, changes) => {
    expect(applyChanges({ ...current, ...dead }, changes)).toMatchObject({ valid: true, invalidReason: null });
    expect(applyChanges({ ...current, ...dead }, { ...changes, valid: false })).toMatchObject({ valid: false });
    expect(applyChanges({ ...current, valid: false }, changes)).toMatchObject({ valid: false });
  });

  it('with other fields keeps the verdict of a push service', () => {
    expect(applyChanges({ ...current, ...dead }, set('vendors', 'lc'))).toMatchObject(dead);
  });

  it.each([
    ['no way to the device', { installationId: null }],
    ['a token without a type', { deviceToken: 't' }],
  ])('leaves none with %s', (_, changes) => {
    expect(() => applyChanges(current, { ...changes, custom: [] })).toThrow(
      expect.objectContaining({ errorName: 'KEY_REQUIRED' }) as Error,
    );
  });
});

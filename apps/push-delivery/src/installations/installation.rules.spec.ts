import { describe, expect, it } from 'vitest';
import { installationClass, type InstallationRow, newRow } from '#objects';
import { applyChanges, type InstallationIdentity, registeredAmong } from './installation.rules.js';

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

describe('applyChanges', () => {
  const current = row('a', { installationId: 'i', fields: { level: 1 } });

  it('changes only the named fields', () => {
    const custom = [{ path: ['level'], operation: { kind: 'increment', amount: 2 } }] as const;
    expect(applyChanges(current, { valid: false, custom })).toEqual({ ...current, valid: false, fields: { level: 3 } });
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

import { describe, expect, it } from 'vitest';
import type { ClassPermission, Principal } from '#contracts';
import { ANONYMOUS } from '../values.js';
import { isGranted } from './object-access.js';

const ada: Principal = { userId: 'ada', roles: ['editors'] };

describe('isGranted', () => {
  it.each<[ClassPermission, Principal, boolean]>([
    ['everyone', ANONYMOUS, true],
    ['everyone', ada, true],
    ['users', ANONYMOUS, false],
    ['users', ada, true],
    [[], ada, false],
    [[], ANONYMOUS, false],
    [['ada'], ada, true],
    [['grace'], ada, false],
    [['role:editors'], ada, true],
    [['role:admins'], ada, false],
    [['editors'], ada, false],
    [['role:editors'], ANONYMOUS, false],
  ])('%j for %j: %s', (permission, principal, expected) => {
    expect(isGranted(permission, principal)).toBe(expected);
  });
});

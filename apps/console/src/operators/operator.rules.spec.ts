import { describe, expect, it } from 'vitest';
import { ROLE_PERMISSIONS, type Undo } from '#console-api';
import { undoFor } from './operator.rules.js';

const undoOf = (changes: Readonly<Record<string, unknown>>, action: Undo['action'] = 'changeUser'): Undo => ({
  action,
  params: { appId: 'shop', userId: 'u1' },
  body: { changes, former: { level: 2 } },
});

describe('the undo of an entry', () => {
  it.each([
    ['support', undoOf({ level: 1 }), true],
    ['viewer', undoOf({ level: 1 }), false],
    ['support', undoOf({ ACL: {} }), false],
    ['developer', undoOf({ ACL: {} }), true],
    ['support', undoOf({}, 'changeSetting'), false],
  ] as const)('is shown to %s as far as the role may do it: %j, %s', (role, undo, isOffered) => {
    expect(undoFor({ outcome: 'done', undo, isUndone: false }, ROLE_PERMISSIONS[role])).toBe(isOffered ? undo : null);
  });

  it.each(['begun', 'refused', 'failed', 'unknown'] as const)('is none while the outcome is %s', (outcome) => {
    expect(undoFor({ outcome, undo: undoOf({ level: 1 }), isUndone: false }, ROLE_PERMISSIONS.developer)).toBeNull();
  });
});

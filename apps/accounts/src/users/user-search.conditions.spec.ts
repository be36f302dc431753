import { expect, it } from 'vitest';
import type { JsonObject } from '#contracts';
import { conditionOf } from './user-search.conditions.js';

const sqlOf = (where: JsonObject) =>
  conditionOf({ appId: 'shop', in: 'any', mode: 'prefix', order: 'newest', limit: 50, filters: {}, where }).sql;
const selected = (className: string): JsonObject => ({
  username: { $dontSelect: { query: { className, where: {} }, key: 'name' } },
});

it('a condition on members of a role, or on roles, reads the tables of roles', () => {
  const object = { __type: 'Pointer', className: '_Role', objectId: 'role1' };
  expect(sqlOf({ $relatedTo: { object, key: 'users' } })).toContain('accounts.role_users');
  expect(sqlOf(selected('_Role'))).toContain('accounts.roles');
});

it.each(['_Installation', 'Unknown', 'toString'])('a condition on the class %s is refused', (name) => {
  expect(() => sqlOf(selected(name))).toThrow(`A condition of users cannot name the class ${name}.`);
});

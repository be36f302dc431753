import { expect, it } from 'vitest';
import type { UserDetails } from '#console-api';
import { changesBetween, typedOf } from './user-profile.rules';

it('fields of a user show hidden characters as escapes, which a save leaves as they are', () => {
  const user = { username: null, email: null, mobilePhoneNumber: null, fields: { bio: 'pay\u202Egnp.exe' } };
  const { fields } = typedOf(user as unknown as UserDetails);
  expect(fields).toContain(String.raw`pay\u202egnp.exe`);
  expect(changesBetween(user as unknown as UserDetails, { fields })).toEqual({});
});

it.each(['toString', 'valueOf', 'hasOwnProperty'])('a field named %s is removed like others', (name) => {
  const user = { username: null, email: null, mobilePhoneNumber: null, fields: { [name]: 'v', level: 1 } };
  const changes = changesBetween(user as unknown as UserDetails, { fields: '{"level":1}' });
  expect(changes).toEqual({ [name]: { __op: 'Delete' } });
});

import type { UserDetails } from '#console-api';
import { objectOf } from '../parts/typed.rules';
import { visible } from '../parts/visible.rules';

export interface Typed {
  readonly username: string;
  readonly email: string;
  readonly mobilePhoneNumber: string;
  readonly fields: string;
}

const OWN = ['username', 'email', 'mobilePhoneNumber'] as const;
const REMOVED = { __op: 'Delete' };

export function typedOf({ username, email, mobilePhoneNumber, fields }: UserDetails): Typed {
  return {
    username: username ?? '',
    email: email ?? '',
    mobilePhoneNumber: mobilePhoneNumber ?? '',
    fields: visible(JSON.stringify(fields, undefined, 2)),
  };
}

/**
 * The changes that a save sends: the typed values and the application's fields that differ.
 *
 * @throws SyntaxError where the fields are no JSON object
 */
export function changesBetween(user: UserDetails, typed: Partial<Typed>): Record<string, unknown> {
  const before = typedOf(user);
  const own = OWN.filter((name) => typed[name] !== undefined && typed[name] !== before[name]).map((name) => [
    name,
    typed[name] === '' ? REMOVED : typed[name],
  ]);
  return {
    ...(Object.fromEntries(own) as Record<string, unknown>),
    ...(typed.fields === undefined ? {} : fieldChanges(user.fields, typed.fields)),
  };
}

function fieldChanges(before: Readonly<Record<string, unknown>>, text: string): Record<string, unknown> {
  const after = objectOf(text);
  const set = Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]));
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  return Object.fromEntries<unknown>([...set, ...removed.map((name) => [name, REMOVED] as const)]);
}

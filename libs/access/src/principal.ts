import type { Principal } from '#contracts';

export const ANONYMOUS: Principal = { userId: undefined, roles: [] };

/** The keys of an ACL that mean this principal (specification, Access control list). */
export function granteesOf({ userId, roles }: Principal): string[] {
  return ['*', ...(userId === undefined ? [] : [userId]), ...roles.map((name) => `role:${name}`)];
}

/** Who asks, as far as permissions go: nobody in particular, or a user with the roles that it has. */
export interface Principal {
  readonly userId: string | undefined;
  /** Names of the user's roles, those that come by other roles included. */
  readonly roles: readonly string[];
}

export const ANONYMOUS: Principal = { userId: undefined, roles: [] };

/** The keys of an ACL that mean this principal (specification, Access control list). */
export function granteesOf({ userId, roles }: Principal): string[] {
  return ['*', ...(userId === undefined ? [] : [userId]), ...roles.map((name) => `role:${name}`)];
}

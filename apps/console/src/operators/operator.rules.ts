import {
  ALL_APPLICATIONS,
  consoleApi,
  type Grant,
  type Operator,
  type Permission,
  type Role,
  ROLES,
  type Undo,
  UNDO_ACTIONS,
} from '#console-api';
import { appError } from '#errors';
import type { StoredAudit } from '../audit/audit.rules.js';

export const MAX_ATTEMPTS_PER_ADDRESS = 6;
export const MAX_ATTEMPTS_PER_NETWORK = 30;
/** Acts without a session within the window, such as sign-ins and uses of links. */
export const MAX_ANONYMOUS_ACTS_PER_NETWORK = 120;
/** The same from all networks together: it bounds the audit log against a client with very many addresses. */
export const MAX_ANONYMOUS_ACTS = 10 * MAX_ANONYMOUS_ACTS_PER_NETWORK;
export const ATTEMPT_WINDOW_MS = 15 * 60_000;
export const PROOF_MS = 10 * 60_000;

export interface OperatorRow {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly isOwner: boolean;
  readonly isDisabled: boolean;
  readonly hasPassword: boolean;
  readonly isConnected: boolean;
  readonly hasSecondFactor: boolean;
  readonly language: string | null;
  readonly timeZone: string | null;
  readonly theme: string;
  readonly createdAt: Date;
  readonly lastSeenAt: Date | null;
  readonly grants: readonly Grant[];
}

/** `invited`: the operator has no way to sign in yet. */
export function stateOf({
  isDisabled,
  hasPassword,
  isConnected,
}: Pick<OperatorRow, 'hasPassword' | 'isConnected' | 'isDisabled'>): 'active' | 'disabled' | 'invited' {
  if (isDisabled) return 'disabled';
  return hasPassword || isConnected ? 'active' : 'invited';
}

/** @throws AppError NO_EFFECT for a disabled operator, whose links do not work */
export function linkKindOf(row: OperatorRow): 'invitation' | 'recovery' {
  const state = stateOf(row);
  if (state === 'disabled')
    throw appError('NO_EFFECT', {
      message: 'The operator is disabled: a link would not work. Enable the operator first.',
    });
  return state === 'invited' ? 'invitation' : 'recovery';
}

/** @param locks the ends of locks by address */
export function presentOperator(row: OperatorRow, locks: ReadonlyMap<string, Date>): Operator {
  return {
    ...row,
    grants: [...row.grants],
    state: stateOf(row),
    createdAt: row.createdAt.toISOString(),
    lastSeenAt: row.lastSeenAt?.toISOString() ?? null,
    lockedUntil: locks.get(row.address)?.toISOString() ?? null,
  };
}

/** When the oldest of the last `limit` attempts leaves the window; undefined if another attempt is possible. */
export function lockedUntil(times: readonly Date[], limit: number, now: Date): Date | undefined {
  const counted = times.map((time) => time.getTime()).filter((time) => time > now.getTime() - ATTEMPT_WINDOW_MS);
  if (counted.length < limit) return undefined;
  const oldest = counted.toSorted((a, b) => a - b).at(-limit) ?? 0;
  return new Date(oldest + ATTEMPT_WINDOW_MS);
}

/** Expiry of the last proof of identity; undefined if it has expired. */
export function provenUntil(provenAt: Date | null, now: Date): Date | undefined {
  if (provenAt === null || provenAt.getTime() + PROOF_MS <= now.getTime()) return undefined;
  return new Date(provenAt.getTime() + PROOF_MS);
}

/** Whether a password alone is too little for the operator's rights. */
export function hasPowers({ isOwner, grants }: Pick<OperatorRow, 'grants' | 'isOwner'>): boolean {
  return isOwner || grants.some(({ role }) => role === 'developer');
}

/** As compared and stored: one for each application, ordered by id. */
export function sortedGrants(grants: readonly { readonly appId: string; readonly role: Role }[]): Grant[] {
  return grants.toSorted((a, b) => (a.appId < b.appId ? -1 : 1)).map(({ appId, role }) => ({ appId, role }));
}

/** A null application means all. */
interface GroupRole {
  readonly group: string;
  readonly role: Role | 'owner';
  readonly appId: string | null;
}

export interface Rights {
  readonly isOwner: boolean;
  readonly grants: readonly Grant[];
}

/** Undefined if no group has a role. The strongest role for an application counts. */
export function rightsOf(groups: readonly string[], roles: readonly GroupRole[]): Rights | undefined {
  const given = roles.filter(({ group }) => groups.includes(group));
  if (given.length === 0) return undefined;
  const strongestLast = ROLES.toReversed().flatMap((role) => given.filter((each) => each.role === role));
  const byApplication = new Map(strongestLast.map(({ appId, role }) => [appId ?? ALL_APPLICATIONS, role as Role]));
  return {
    isOwner: given.some(({ role }) => role === 'owner'),
    grants: sortedGrants([...byApplication].map(([appId, role]) => ({ appId, role }))),
  };
}

export function undoFor(
  { outcome, undo, isUndone }: Pick<StoredAudit, 'isUndone' | 'outcome' | 'undo'>,
  may: readonly Permission[],
): Undo | null {
  if (undo === null || isUndone || outcome !== 'done' || !UNDO_ACTIONS.includes(undo.action)) return null;
  const access = consoleApi[undo.action].access as Permission;
  const { changes = {} } = undo.body as { readonly changes?: object };
  const needed: readonly Permission[] = 'ACL' in changes ? [access, 'users.acl'] : [access];
  return needed.every((permission) => may.includes(permission)) ? undo : null;
}

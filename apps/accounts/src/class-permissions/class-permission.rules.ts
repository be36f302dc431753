import type { ClassPermission } from '#contracts';
import { granteesOf, type Principal } from '../principals/principal.rules.js';

/** Whether a class permission lets the principal in. */
export function isGranted(permission: ClassPermission, principal: Principal): boolean {
  if (permission === 'everyone') return true;
  if (permission === 'users') return principal.userId !== undefined;
  return granteesOf(principal).some((grantee) => permission.includes(grantee));
}

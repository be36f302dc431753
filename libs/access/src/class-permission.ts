import type { ClassName, ClassOperation, ClassPermission, Principal } from '#contracts';
import { type AppError, appError } from '#errors';
import { granteesOf } from './principal.js';

/** Whether a class permission lets the principal in. */
export function isGranted(permission: ClassPermission, principal: Principal): boolean {
  if (permission === 'everyone') return true;
  if (permission === 'users') return principal.userId !== undefined;
  return granteesOf(principal).some((grantee) => permission.includes(grantee));
}

/** The answer to whom a class permission does not let in. */
export function classForbidden(operation: ClassOperation, className: ClassName): AppError {
  return appError('FORBIDDEN', { message: `Forbidden to ${operation} by class '${className}' permissions.` });
}

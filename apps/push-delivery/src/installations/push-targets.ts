import { CLASS_NAMES } from '#contracts';
import { appError } from '#errors';
import { compileCount, installationClass, parseWhere, type QueryClass, type QueryScope } from '#objects';
import type { PushTarget } from '../pushes/push.row.js';

/** The fields of installations that a push may name. */
export const INSTALLATION_QUERY_CLASS = installationClass.queryClass();

/** Pushes go to installations that are valid and were saved within the last 90 days (rule of the API). */
export const IS_TARGET = `valid AND updated_at > now() - interval '90 days'`;

/** A push finds all installations of its application, regardless of their ACLs. */
export function pushScope(appId: string): QueryScope {
  return { appId, grantees: 'master', classOf };
}

/** An invalid target is refused in the response to the request, not later by the dispatcher. @throws AppError as `parseWhere` */
export function assertFindable(appId: string, { where }: PushTarget): void {
  compileCount(parseWhere([...where]), INSTALLATION_QUERY_CLASS, pushScope(appId));
}

/** @throws AppError NOT_FOUND for an unknown class; INVALID_QUERY for a class that another service stores */
function classOf(className: string): QueryClass {
  if (className === INSTALLATION_QUERY_CLASS.className) return INSTALLATION_QUERY_CLASS;
  if (!CLASS_NAMES.some((name) => name === className)) throw appError('NOT_FOUND');
  throw appError('INVALID_QUERY', {
    message: `A query of installations cannot contain a sub-query of the class ${className}.`,
  });
}

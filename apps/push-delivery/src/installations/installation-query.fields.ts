import { CLASS_NAMES } from '#contracts';
import { appError } from '#errors';
import type { QueryClass, QueryScope } from '#objects';

/** What a query, or a push, may name of installations. */
export const INSTALLATION_QUERY_CLASS: QueryClass = {
  className: '_Installation',
  table: 'push.installations',
  columns: new Map([
    ['objectId', { sql: 'object_id', type: 'text' }],
    ['installationId', { sql: 'installation_id', type: 'text', isNullable: true }],
    ['deviceType', { sql: 'device_type', type: 'text', isNullable: true }],
    ['deviceToken', { sql: 'device_token', type: 'text', isNullable: true }],
    ['valid', { sql: 'valid', type: 'boolean' }],
    ['createdAt', { sql: 'created_at', type: 'date' }],
    ['updatedAt', { sql: 'updated_at', type: 'date' }],
  ]),
  relations: new Map(),
  hidden: new Set(['ACL']),
  appColumn: 'app_id',
  idColumn: 'object_id',
  jsonColumn: 'fields',
  aclColumn: 'acl',
  defaultOrderColumn: 'created_at',
};

/** Which installations pushes are for: those that are valid, and were saved within the last 90 days (the API's rule). */
export const IS_TARGET = `valid AND updated_at > now() - interval '90 days'`;

/** How a push looks at the installations of its application: it finds all, whatever their ACLs say. */
export function pushScope(appId: string): QueryScope {
  return { appId, grantees: 'master', classOf: installationClass };
}

/** @throws AppError NOT_FOUND where there is no such class; INVALID_QUERY where another service keeps its objects */
export function installationClass(className: string): QueryClass {
  if (className === INSTALLATION_QUERY_CLASS.className) return INSTALLATION_QUERY_CLASS;
  if (!CLASS_NAMES.some((name) => name === className)) throw appError('NOT_FOUND');
  throw appError('INVALID_QUERY', { message: `A query of installations cannot look into the class ${className}.` });
}

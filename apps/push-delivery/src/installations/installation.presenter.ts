import type { ApplicationDirectory } from '#admission';
import {
  type Caller,
  CLASS_NAMES,
  type ClassOperation,
  type ClassPermissions,
  type JsonObject,
  type Principal,
} from '#contracts';
import { appError } from '#errors';
import {
  classForbidden,
  granteesOf,
  grants,
  isGranted,
  type QueryClass,
  type QueryScope,
  writeForbidden,
} from '#objects';
import type { InstallationRow } from './installation.row.js';

/** The fields of installations that a query or a push may name. */
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

/** Pushes go to installations that are valid and were saved within the last 90 days (rule of the API). */
export const IS_TARGET = `valid AND updated_at > now() - interval '90 days'`;

/** A push finds all installations of its application, regardless of their ACLs. */
export function pushScope(appId: string): QueryScope {
  return { appId, grantees: 'master', classOf: installationClass };
}

/** @throws AppError NOT_FOUND for an unknown class; INVALID_QUERY for a class that another service stores */
function installationClass(className: string): QueryClass {
  if (className === INSTALLATION_QUERY_CLASS.className) return INSTALLATION_QUERY_CLASS;
  if (!CLASS_NAMES.some((name) => name === className)) throw appError('NOT_FOUND');
  throw appError('INVALID_QUERY', {
    message: `A query of installations cannot contain a sub-query of the class ${className}.`,
  });
}

/** The public JSON of an installation: an allow-list, apart from the custom fields. */
export function presentInstallation(
  { fields, ...row }: InstallationRow,
  { showsAcl }: { readonly showsAcl: boolean },
): JsonObject {
  return {
    ...fields,
    objectId: row.objectId,
    ...(row.installationId === null ? {} : { installationId: row.installationId }),
    ...(row.deviceType === null ? {} : { deviceType: row.deviceType }),
    ...(row.deviceToken === null ? {} : { deviceToken: row.deviceToken }),
    valid: row.valid,
    ...(showsAcl && row.acl !== null ? { ACL: row.acl } : {}),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

/** The caller of a request, as the gateway has resolved it. */
export interface Requester {
  readonly caller: Caller;
  readonly principal: Principal;
}

/** The permissions of one caller on the installations of its application. */
export class InstallationAccess {
  /** The installations that the caller can find; a sub-query also needs the permission. */
  readonly scope: QueryScope;

  constructor(
    private readonly requester: Requester,
    private readonly permissions: ClassPermissions['_Installation'],
  ) {
    const { caller, principal } = requester;
    this.scope = {
      appId: caller.appId,
      grantees: caller.isMaster ? 'master' : granteesOf(principal),
      classOf: (className) => {
        const queryClass = installationClass(className);
        this.assertMay('find');
        return queryClass;
      },
    };
  }

  get isMaster(): boolean {
    return this.requester.caller.isMaster;
  }

  /** @throws AppError FORBIDDEN by class permission */
  assertMay(operation: ClassOperation): void {
    const { caller, principal } = this.requester;
    if (caller.isMaster || isGranted(this.permissions[operation], principal)) return;
    throw classForbidden(operation, '_Installation');
  }

  /** @throws AppError FORBIDDEN by the object's ACL */
  assertMayWrite({ acl }: InstallationRow): void {
    if (!this.isMaster && !grants(acl, 'write', granteesOf(this.requester.principal))) throw writeForbidden();
  }

  mayRead({ acl }: InstallationRow): boolean {
    return this.isMaster || grants(acl, 'read', granteesOf(this.requester.principal));
  }
}

/**
 * Looks up the class permissions. Call it before a transaction, because a transaction must not wait for another service.
 * @throws AppError UNAUTHORIZED if the application no longer exists
 */
export async function accessOf(requester: Requester, applications: ApplicationDirectory): Promise<InstallationAccess> {
  const application = await applications.find(requester.caller.appId);
  if (application === null) throw appError('UNAUTHORIZED');
  return new InstallationAccess(requester, application.classPermissions._Installation);
}

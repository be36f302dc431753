import { Injectable } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import type { Caller, ClassOperation, ClassPermissions, Principal } from '#contracts';
import { appError } from '#errors';
import { classForbidden, granteesOf, grants, isGranted, type QueryScope, writeForbidden } from '#objects';
import { installationClass } from './installation-query.fields.js';
import type { InstallationRow } from './installation.row.js';

/** Who asks, as the gateway has found out. */
export interface Asker {
  readonly caller: Caller;
  readonly principal: Principal;
}

/** What one caller may do with the installations of its application. */
export class InstallationAccess {
  /** What the caller can find; a sub-query needs the permission too. */
  readonly scope: QueryScope;

  constructor(
    private readonly asker: Asker,
    private readonly permissions: ClassPermissions['_Installation'],
  ) {
    const { caller, principal } = asker;
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
    return this.asker.caller.isMaster;
  }

  /** @throws AppError FORBIDDEN by class permission */
  assertMay(operation: ClassOperation): void {
    const { caller, principal } = this.asker;
    if (caller.isMaster || isGranted(this.permissions[operation], principal)) return;
    throw classForbidden(operation, '_Installation');
  }

  /** @throws AppError FORBIDDEN by the object's ACL */
  assertMayWrite({ acl }: InstallationRow): void {
    if (!this.isMaster && !grants(acl, 'write', granteesOf(this.asker.principal))) throw writeForbidden();
  }

  mayRead({ acl }: InstallationRow): boolean {
    return this.isMaster || grants(acl, 'read', granteesOf(this.asker.principal));
  }
}

/** Looks up class permissions; before a transaction, which must not wait for another service. */
@Injectable()
export class InstallationAccesses {
  constructor(private readonly applications: ApplicationDirectory) {}

  /** @throws AppError UNAUTHORIZED where the application is gone */
  async of(asker: Asker): Promise<InstallationAccess> {
    const application = await this.applications.find(asker.caller.appId);
    if (application === null) throw appError('UNAUTHORIZED');
    return new InstallationAccess(asker, application.classPermissions._Installation);
  }
}

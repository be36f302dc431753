import { Injectable } from '@nestjs/common';
import type { Caller, ClassName, ClassOperation } from '#contracts';
import { classForbidden, isGranted } from '#objects';
import { ApplicationsService } from '../applications/applications.service.js';
import { PrincipalsService } from '../principals/principals.service.js';

/** Decides by the application's class permissions, before any ACL is asked. */
@Injectable()
export class ClassAccess {
  constructor(
    private readonly applications: ApplicationsService,
    private readonly principals: PrincipalsService,
  ) {}

  /** @throws AppError FORBIDDEN where the class permission does not let the caller do it */
  async assertMay(caller: Caller, operation: ClassOperation, className: ClassName): Promise<void> {
    if (caller.isMaster) return;
    const permission = (await this.applications.permissionsOf(caller.appId))[className][operation];
    // The common case costs no look-up.
    if (permission === 'everyone' || isGranted(permission, await this.principals.of(caller))) return;
    throw classForbidden(operation, className);
  }
}

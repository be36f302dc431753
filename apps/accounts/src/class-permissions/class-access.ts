import { Injectable } from '@nestjs/common';
import type { Caller, ClassName, ClassOperation } from '#contracts';
import { appError } from '#errors';
import { ApplicationsService } from '../applications/applications.service.js';
import { PrincipalsService } from '../principals/principals.service.js';
import { isGranted } from './class-permission.rules.js';

/** Decides by the application's class permissions, before any ACL is asked. */
@Injectable()
export class ClassAccess {
  constructor(
    private readonly applications: ApplicationsService,
    private readonly principals: PrincipalsService,
  ) {}

  /** @throws AppError FORBIDDEN where the class permission does not let the caller do it */
  async assertMay(caller: Caller, operation: ClassOperation, className: ClassName): Promise<void> {
    if (await this.may(caller, operation, className)) return;
    throw appError('FORBIDDEN', { message: `Forbidden to ${operation} by class '${className}' permissions.` });
  }

  async may(caller: Caller, operation: ClassOperation, className: ClassName): Promise<boolean> {
    if (caller.isMaster) return true;
    const permission = (await this.applications.permissionsOf(caller.appId))[className][operation];
    return permission === 'everyone' || isGranted(permission, await this.principals.of(caller));
  }
}

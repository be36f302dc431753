import { Injectable } from '@nestjs/common';
import type { Caller, ClassName, ClassOperation } from '#contracts';
import { appError } from '#errors';
import { classForbidden, granteesOf, isGranted, type QueryClass } from '#objects';
import { ALWAYS_MET, type UpdateCondition, updateCondition } from '#objects/store';
import { ApplicationsService } from '../applications/applications.service.js';
import { PrincipalsService } from '../sessions/sessions.service.js';
import { ObjectClasses, type ReadContext, type StoredClassName } from './object-classes.js';

/** Resolves what a caller may do with objects: by class permissions first, then by ACLs and hidden fields. */
@Injectable()
export class ObjectAccess {
  constructor(
    private readonly applications: ApplicationsService,
    private readonly principals: PrincipalsService,
    private readonly classes: ObjectClasses,
  ) {}

  /** @throws AppError FORBIDDEN where the class permission refuses the caller */
  async assertMay(caller: Caller, operation: ClassOperation, className: ClassName): Promise<void> {
    if (caller.isMaster) return;
    const permission = (await this.applications.permissionsOf(caller.appId))[className][operation];
    // The common case costs no lookup.
    if (permission === 'everyone' || isGranted(permission, await this.principals.of(caller))) return;
    throw classForbidden(operation, className);
  }

  async contextOf(caller: Caller, returnAcl = false): Promise<ReadContext> {
    const principal = caller.isMaster ? undefined : await this.principals.of(caller);
    const permissions = await this.applications.permissionsOf(caller.appId);
    const settings = await this.applications.settingsOf(caller.appId);
    const hideContact = !caller.isMaster && settings.hideContact;
    const may = (operation: ClassOperation, className: ClassName) =>
      principal === undefined || isGranted(permissions[className][operation], principal);
    const queryClassOf = (className: StoredClassName) => this.classes.of(className).queryClass({ hideContact });
    return {
      scope: {
        appId: caller.appId,
        grantees: principal === undefined ? 'master' : granteesOf(principal),
        classOf: (className) => findable(className, may, queryClassOf),
      },
      principal,
      hideContact,
      returnAcl,
      mayGet: (className) => may('get', className),
      queryClassOf,
    };
  }

  /** Parses the condition of a write. @throws AppError INVALID_QUERY, also for fields that the caller may not query */
  async conditionOf(caller: Caller, className: StoredClassName, where: unknown): Promise<UpdateCondition> {
    if (where === undefined) return ALWAYS_MET;
    const context = await this.contextOf(caller);
    return updateCondition(where, context.queryClassOf(className), context.scope);
  }
}

/** @throws AppError NOT_FOUND for a class that this service does not store, FORBIDDEN where the caller may not find in it */
function findable(
  className: string,
  may: (operation: ClassOperation, className: ClassName) => boolean,
  queryClassOf: (className: StoredClassName) => QueryClass,
): QueryClass {
  if (className !== '_User' && className !== '_Role') throw appError('NOT_FOUND');
  if (!may('find', className)) throw classForbidden('find', className);
  return queryClassOf(className);
}

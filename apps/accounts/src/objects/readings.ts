import { Injectable } from '@nestjs/common';
import type { Caller, ClassName, ClassOperation } from '#contracts';
import { appError } from '#errors';
import { classForbidden, granteesOf, isGranted, type QueryClass } from '#objects';
import { ApplicationsService } from '../applications/applications.service.js';
import { PrincipalsService } from '../principals/principals.service.js';
import { ROLE_QUERY_CLASS } from '../roles/role-query.fields.js';
import { userQueryClass } from '../users/user-query.fields.js';
import type { Reading, StoredClassName } from './reading.types.js';

/** Resolves callers into what they may read. */
@Injectable()
export class Readings {
  constructor(
    private readonly applications: ApplicationsService,
    private readonly principals: PrincipalsService,
  ) {}

  async of(caller: Caller, returnAcl = false): Promise<Reading> {
    const principal = caller.isMaster ? undefined : await this.principals.of(caller);
    const permissions = await this.applications.permissionsOf(caller.appId);
    const settings = await this.applications.settingsOf(caller.appId);
    const hideContact = !caller.isMaster && settings.hideContact;
    const may = (operation: ClassOperation, className: ClassName) =>
      principal === undefined || isGranted(permissions[className][operation], principal);
    const queryClassOf = (className: StoredClassName) =>
      className === '_Role' ? ROLE_QUERY_CLASS : userQueryClass({ hideContact });
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
}

/** @throws AppError NOT_FOUND where we keep no such class, FORBIDDEN where the caller may not find in it */
function findable(
  className: string,
  may: (operation: ClassOperation, className: ClassName) => boolean,
  queryClassOf: (className: StoredClassName) => QueryClass,
): QueryClass {
  if (className !== '_User' && className !== '_Role') throw appError('NOT_FOUND');
  if (!may('find', className)) throw classForbidden('find', className);
  return queryClassOf(className);
}

import { Injectable } from '@nestjs/common';
import type { CompiledCount, CompiledFind } from '#objects';
import { AccountsQueryDatabase } from '../objects/accounts-query-database.js';
import type { ObjectReader, ReadObject } from '../objects/object-reader.js';
import type { Reading } from '../objects/reading.types.js';
import { presentRole } from './role.presenter.js';
import type { RoleRow } from './role.row.js';
import { RolesRepository } from './roles.repository.js';

/** Roles as queries find them. */
@Injectable()
export class RoleReader implements ObjectReader {
  constructor(
    private readonly roles: RolesRepository,
    private readonly queries: AccountsQueryDatabase,
  ) {}

  async find(query: CompiledFind): Promise<ReadObject[]> {
    return (await this.roles.list(this.queries.for(query), query)).map(asReadObject);
  }

  count(query: CompiledCount): Promise<number> {
    return this.roles.count(this.queries.for(query), query);
  }

  async findMany(appId: string, objectIds: readonly string[]): Promise<ReadObject[]> {
    return (await this.roles.findMany(appId, objectIds)).map(asReadObject);
  }
}

function asReadObject(role: RoleRow): ReadObject {
  return {
    objectId: role.objectId,
    acl: role.acl,
    present: ({ principal, returnAcl }: Reading) =>
      presentRole(role, { showsAcl: principal === undefined || returnAcl }),
  };
}

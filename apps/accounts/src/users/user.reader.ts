import { Injectable } from '@nestjs/common';
import { Database } from '#database';
import type { CompiledCount, CompiledFind } from '#objects';
import { AccountsQueryDatabase } from '../objects/accounts-query-database.js';
import type { ObjectReader, ReadObject } from '../objects/object-reader.js';
import type { Reading } from '../objects/reading.types.js';
import { presentUser, type UserView } from './user.presenter.js';
import type { UserRow } from './user.row.js';
import { UsersRepository } from './users.repository.js';

/** Users as queries find them. */
@Injectable()
export class UserReader implements ObjectReader {
  constructor(
    private readonly users: UsersRepository,
    private readonly database: Database,
    private readonly queries: AccountsQueryDatabase,
  ) {}

  async find(query: CompiledFind): Promise<ReadObject[]> {
    const users = await this.users.list(query.isLookUp ? this.database : this.queries.for(query), query);
    return users.map(asReadObject);
  }

  count(query: CompiledCount): Promise<number> {
    return this.users.count(this.queries.for(query), query);
  }

  async findMany(appId: string, objectIds: readonly string[]): Promise<ReadObject[]> {
    return (await this.users.findMany(appId, objectIds)).map(asReadObject);
  }
}

function asReadObject(user: UserRow): ReadObject {
  return {
    objectId: user.objectId,
    acl: user.acl,
    present: (reading) =>
      presentUser(user, {
        viewer: viewerOf(reading, user),
        hideContact: reading.hideContact,
        returnAcl: reading.returnAcl,
      }),
  };
}

function viewerOf({ principal }: Reading, { objectId }: UserRow): UserView['viewer'] {
  if (principal === undefined) return 'master';
  return principal.userId === objectId ? 'owner' : 'other';
}

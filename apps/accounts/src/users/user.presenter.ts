import { Injectable } from '@nestjs/common';
import type { JsonObject, VisibleUser } from '#contracts';
import { Database, type Tx } from '#database';
import type { CompiledCount, CompiledFind, QueryClass } from '#objects';
import {
  AccountsQueryDatabase,
  type ObjectReader,
  type ReadContext,
  type ReadObject,
} from '../objects/object-classes.js';
import type { UserRow } from './user.rules.js';
import { UsersRepository } from './users.repository.js';

/** The session key of a mini program's platform; its documentation forbids sending it to clients. */
const SERVER_ONLY = 'session_key';

/** The view in which a user is presented. */
export interface UserView {
  /** The user's own session, the master key, or another caller. */
  readonly viewer: 'owner' | 'master' | 'other';
  /** Only in responses that return a token (specification, User, sessionToken). */
  readonly sessionToken?: string;
  readonly hideContact?: boolean;
  /** Show the ACL to other callers as well (`returnACL=true`). */
  readonly returnAcl?: boolean;
}

/** The public JSON of a user. An allow-list: columns that are not named here never leave the service. */
export function presentUser(user: UserRow, view: UserView): VisibleUser {
  return {
    ...user.fields,
    ...(view.sessionToken === undefined ? {} : { sessionToken: view.sessionToken }),
    objectId: user.objectId,
    username: user.username,
    emailVerified: user.emailVerified,
    mobilePhoneVerified: user.mobilePhoneVerified,
    ...presentContact(user, view),
    ...presentAuthData(user, view),
    ...presentAcl(user, view),
    createdAt: user.createdAt.toISOString(),
    updatedAt: user.updatedAt.toISOString(),
  };
}

function presentContact(user: UserRow, { viewer, hideContact }: UserView): JsonObject {
  if (viewer === 'other' && hideContact === true) return {};
  return {
    ...(user.email === null ? {} : { email: user.email }),
    ...(user.mobilePhoneNumber === null ? {} : { mobilePhoneNumber: user.mobilePhoneNumber }),
  };
}

/** Platform tokens are visible only to the user and the master key. */
function presentAuthData({ identities }: UserRow, { viewer }: UserView): JsonObject {
  if (identities === null || viewer === 'other') return {};
  return {
    authData: Object.fromEntries(
      [...identities].map(([platform, { entry }]) => [platform, presentEntry(entry, viewer)]),
    ),
  };
}

function presentEntry(entry: JsonObject, viewer: UserView['viewer']): JsonObject {
  return viewer === 'master'
    ? entry
    : Object.fromEntries(Object.entries(entry).filter(([name]) => name !== SERVER_ONLY));
}

function presentAcl(user: UserRow, { viewer, returnAcl }: UserView): JsonObject {
  return user.acl === null || (viewer === 'other' && returnAcl !== true) ? {} : { ACL: user.acl };
}

/** Reads users for queries. */
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

  lockMany(tx: Tx, appId: string, objectIds: readonly string[]): Promise<void> {
    return this.users.lockMany(tx, appId, objectIds);
  }
}

function asReadObject(user: UserRow): ReadObject {
  return {
    objectId: user.objectId,
    acl: user.acl,
    present: (context) =>
      presentUser(user, {
        viewer: viewerOf(context, user),
        hideContact: context.hideContact,
        returnAcl: context.returnAcl,
      }),
  };
}

function viewerOf({ principal }: ReadContext, { objectId }: UserRow): UserView['viewer'] {
  if (principal === undefined) return 'master';
  return principal.userId === objectId ? 'owner' : 'other';
}

const COLUMNS: QueryClass['columns'] = new Map([
  ['objectId', { sql: 'object_id', type: 'text', isUnique: true }],
  ['username', { sql: 'username', type: 'text', isUnique: true }],
  ['email', { sql: 'email', type: 'text', isNullable: true, isUnique: true }],
  ['emailVerified', { sql: 'email_verified', type: 'boolean', isNullable: true }],
  ['mobilePhoneNumber', { sql: 'mobile_phone_number', type: 'text', isNullable: true, isUnique: true }],
  ['mobilePhoneVerified', { sql: 'mobile_phone_verified', type: 'boolean' }],
  ['createdAt', { sql: 'created_at', type: 'date' }],
  ['updatedAt', { sql: 'updated_at', type: 'date' }],
]);

const NEVER_QUERIED = ['password', 'salt', 'sessionToken', 'authData', 'ACL'];
const CONTACT = ['email', 'mobilePhoneNumber'];

/** The fields of users that queries may name. With `hideContact` hidden contact data cannot be queried either. */
export function userQueryClass({ hideContact }: { hideContact: boolean }): QueryClass {
  return {
    className: '_User',
    table: 'accounts.users',
    columns: COLUMNS,
    relations: new Map(),
    hidden: new Set([...NEVER_QUERIED, ...(hideContact ? CONTACT : [])]),
    appColumn: 'app_id',
    idColumn: 'object_id',
    jsonColumn: 'fields',
    aclColumn: 'acl',
    defaultOrderColumn: 'created_at',
  };
}

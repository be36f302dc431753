import { Controller } from '@nestjs/common';
import { Clock } from '#bootstrap';
import {
  accountsRpc,
  type FoundUser,
  MAX_LIST_LIMIT,
  MAX_USERS_WITHOUT_SEARCH_INDEX,
  MIN_CONTAINED_CHARACTERS,
  type RpcData,
  type RpcReply,
  userSearchRpc,
} from '#contracts';
import { appError } from '#errors';
import { RpcHandler } from '#messaging';
import { FieldIndexes } from '#objects/store';
import { ApplicationsService } from '../applications/applications.service.js';
import { LockoutService } from '../lockout/lockout.service.js';
import { PrincipalsService } from '../sessions/session-tokens.js';
import { DailyCounts } from './daily-counts.js';
import { SignUpService } from './sign-up.service.js';
import { UserObjectWrites } from './user-object-writes.js';
import { type UserMatch, UserSearchRepository } from './user-search.repository.js';
import { presentUser } from './user.rules.js';
import { UsersRepository } from './users.repository.js';
import { UsersService } from './users.service.js';

type Rpc = typeof accountsRpc & typeof userSearchRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

@Controller()
export class UsersController {
  constructor(
    private readonly users: UsersService,
    private readonly signUps: SignUpService,
    private readonly principals: PrincipalsService,
    private readonly writes: UserObjectWrites,
  ) {}

  @RpcHandler(accountsRpc.signUp)
  async signUp({ caller, fields }: Data<'signUp'>): Reply<'signUp'> {
    return { user: await this.signUps.signUp(caller, fields), isNew: true };
  }

  @RpcHandler(accountsRpc.getUser)
  async get({ caller, objectId, ...options }: Data<'getUser'>): Reply<'getUser'> {
    return { user: await this.users.get(caller, objectId, options) };
  }

  @RpcHandler(accountsRpc.getCurrentUser)
  async getCurrent({ caller }: Data<'getCurrentUser'>): Reply<'getCurrentUser'> {
    return { user: await this.users.getCurrent(caller) };
  }

  @RpcHandler(accountsRpc.updateUser)
  async update({ caller, objectId, changes, ...options }: Data<'updateUser'>): Reply<'updateUser'> {
    const prepared = await this.writes.prepareChange(caller, objectId, changes, options);
    return { result: await prepared.runAlone() };
  }

  @RpcHandler(accountsRpc.updatePassword)
  async updatePassword({ caller, objectId, passwords }: Data<'updatePassword'>): Reply<'updatePassword'> {
    return { result: await this.users.updatePassword(caller, objectId, passwords) };
  }

  @RpcHandler(accountsRpc.resolvePrincipal)
  async resolvePrincipal({ caller }: Data<'resolvePrincipal'>): Reply<'resolvePrincipal'> {
    return { principal: await this.principals.of(caller) };
  }

  @RpcHandler(accountsRpc.refreshSessionToken)
  async refreshSessionToken({ caller, objectId }: Data<'refreshSessionToken'>): Reply<'refreshSessionToken'> {
    return { user: await this.users.refreshSessionToken(caller, objectId) };
  }
}

type Search = Data<'search'>;

const SEARCHED_FIELDS = ['username', 'email', 'mobilePhoneNumber'];
const DAY_MS = 24 * 60 * 60 * 1_000;
const WEEK_MS = 7 * DAY_MS;
/** A count of the sign-ups of some days reads an index only. */
const MAX_EXACT_SIGN_UPS = 100_000;

@Controller()
export class UserSearchController {
  constructor(
    private readonly search: UserSearchRepository,
    private readonly users: UsersRepository,
    private readonly applications: ApplicationsService,
    private readonly lockouts: LockoutService,
    private readonly principals: PrincipalsService,
    private readonly indexes: FieldIndexes,
    private readonly counts: DailyCounts,
    private readonly clock: Clock,
  ) {}

  @RpcHandler(userSearchRpc.search)
  async find(search: Search): Reply<'search'> {
    await this.applications.assertKnown(search.appId);
    await this.#assertPossible(search);
    const locked = search.filters.locked === true ? await this.#locked(search.appId) : undefined;
    const searched = { ...search, lockedIds: locked?.map(({ userId }) => userId) };
    const found = await this.search.find(searched);
    const wanted = found.users.slice(0, search.limit);
    const page = await this.#pageOf(search, wanted);
    const last = found.users.length > page.length ? (page.at(-1) ?? wanted.at(-1)) : undefined;
    return {
      users: await this.#withLocks(search.appId, page),
      next: last === undefined ? null : { key: keyOf(last, search.order), objectId: last.objectId },
      total: search.after === undefined ? (found.total ?? (await this.search.count(searched))) : null,
    };
  }

  @RpcHandler(userSearchRpc.describe)
  async describe({ appId, userId }: Data<'describe'>): Reply<'describe'> {
    await this.applications.assertKnown(appId);
    const user = await this.users.find(appId, userId);
    if (user === undefined) throw appError('USER_NOT_FOUND');
    const { roles } = await this.principals.ofUser(appId, userId);
    const linked = [...(user.identities ?? [])].sort(([one], [other]) => (one < other ? -1 : 1));
    return {
      user: presentUser({ ...user, identities: null }, { viewer: 'master', returnAcl: true }),
      hasPassword: user.passwordHash !== null,
      roles: roles.toSorted(),
      linkedAccounts: linked.map(([platform, { kind, uid, isVerified }]) => ({
        platform,
        kind: kind ?? null,
        uid,
        isVerified,
      })),
      lockout: await this.lockouts.describe({ appId, userId }),
    };
  }

  @RpcHandler(userSearchRpc.count)
  async count({ appId }: Data<'count'>): Reply<'count'> {
    await this.applications.assertKnown(appId);
    const now = this.clock.now().getTime();
    const createdSince = (ms: number) =>
      this.search.count(searchAll(appId, { createdFrom: new Date(now - ms).toISOString() }), MAX_EXACT_SIGN_UPS);
    const locked = (await this.#locked(appId)).length;
    return {
      total: await this.search.count(searchAll(appId)),
      createdLastDay: await createdSince(DAY_MS),
      createdLastWeek: await createdSince(WEEK_MS),
      locked: { value: locked, isExact: locked < MAX_LIST_LIMIT },
    };
  }

  @RpcHandler(userSearchRpc.countByDay)
  async countByDay({ appId, from }: Data<'countByDay'>): Reply<'countByDay'> {
    await this.applications.assertKnown(appId);
    return { days: await this.counts.since(appId, from) };
  }

  @RpcHandler(userSearchRpc.getIndex)
  async getIndex({ appId }: Data<'getIndex'>): Reply<'getIndex'> {
    await this.applications.assertKnown(appId);
    const reports = await this.indexes.report(appId);
    const found = reports.find(({ className, fields }) => className === '_User' && isSearched(fields));
    const isContainsPossible = found?.state === 'ready' || !(await this.#hasMany(appId));
    if (found === undefined) return { state: 'off', problem: null, progress: null, bytes: 0, isContainsPossible };
    const { state, problem, progress, bytes } = found;
    return { state, problem, progress, bytes, isContainsPossible };
  }

  @RpcHandler(userSearchRpc.addIndex)
  async addIndex({ appId }: Data<'addIndex'>): Reply<'addIndex'> {
    await this.applications.assertKnown(appId);
    await this.indexes.addTextSearch(keyOfIndex(appId));
    return {};
  }

  @RpcHandler(userSearchRpc.removeIndex)
  async removeIndex({ appId }: Data<'removeIndex'>): Reply<'removeIndex'> {
    await this.applications.assertKnown(appId);
    await this.indexes.remove(keyOfIndex(appId));
    return {};
  }

  /** With `withFields`: as many of the first users as fit, with their custom fields. Users deleted meanwhile are left out. */
  async #pageOf({ appId, withFields = false }: Search, users: UserMatch[]): Promise<UserMatch[]> {
    if (!withFields || users.length === 0) return users;
    const found = await this.search.fieldsOf(
      appId,
      users.map(({ objectId }) => objectId),
    );
    return users.flatMap((user) => {
      const fields = found.get(user.objectId);
      return fields === undefined ? [] : [{ ...user, fields }];
    });
  }

  async #assertPossible({ appId, text, mode, after, order }: Search): Promise<void> {
    if (after !== undefined && order !== 'username' && Number.isNaN(Date.parse(after.key)))
      throw appError('INVALID_QUERY', { message: 'after.key must be a time in this order.' });
    if (mode !== 'contains' || text === undefined) return;
    if (text.length < MIN_CONTAINED_CHARACTERS)
      throw appError('INVALID_QUERY', { message: `text must have at least ${MIN_CONTAINED_CHARACTERS} characters.` });
    const indexes = await this.indexes.of(appId, '_User');
    if (indexes.some(({ fields }) => isSearched(fields))) return;
    if (await this.#hasMany(appId)) throw appError('SEARCH_INDEX_REQUIRED');
  }

  async #hasMany(appId: string): Promise<boolean> {
    return !(await this.search.count(searchAll(appId), MAX_USERS_WITHOUT_SEARCH_INDEX)).isExact;
  }

  #locked(appId: string) {
    return this.lockouts.list(appId, { limit: MAX_LIST_LIMIT });
  }

  async #withLocks(appId: string, users: readonly UserMatch[]): Promise<RpcReply<Rpc['search']>['users']> {
    const ids = users.map(({ objectId }) => objectId);
    const locks = ids.length === 0 ? new Map<string, Date>() : await this.lockouts.locksOf(appId, ids);
    return users.map((user) => foundUser(user, locks.get(user.objectId)));
  }
}

/** Names each member: to copy the rest of a row takes longer than to encode the reply. */
function foundUser(user: UserMatch, lockedUntil: Date | undefined): FoundUser {
  const { objectId, username, email, emailVerified, mobilePhoneNumber, mobilePhoneVerified, fields } = user;
  const { hasPassword, platforms, createdAt, updatedAt } = user;
  return {
    objectId,
    username,
    email,
    emailVerified,
    mobilePhoneNumber,
    mobilePhoneVerified,
    hasPassword,
    platforms,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    lockedUntil: lockedUntil?.toISOString() ?? null,
    fields,
  };
}

function searchAll(appId: string, filters: Search['filters'] = {}): Search {
  return { appId, in: 'any', mode: 'prefix', order: 'newest', limit: 1, filters };
}

function keyOf({ lowerUsername, createdAt }: UserMatch, order: Search['order']): string {
  return order === 'username' ? lowerUsername : createdAt.toISOString();
}

function keyOfIndex(appId: string) {
  return { appId, className: '_User' as const, fields: SEARCHED_FIELDS };
}

function isSearched(fields: readonly string[]): boolean {
  return fields.join() === SEARCHED_FIELDS.join();
}

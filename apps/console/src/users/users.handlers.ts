import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { consoleApi, type ListedUser, type RouteQuery, type UserDetails } from '#console-api';
import {
  accountsRpc,
  emailsRpc,
  gatewayRpc,
  type FoundUser,
  type JsonObject,
  lockoutsRpc,
  MAX_FOUND_USERS,
  objectsRpc,
  phoneNumbersRpc,
  type RpcReply,
  userSearchRpc,
} from '#contracts';
import { appError } from '#errors';
import { RpcClient } from '#messaging';
import { Sealer } from '#security';
import {
  changedSince,
  type ConsoleRequest,
  Handles,
  ifUnchanged,
  type ReplyOf,
  type RequestOf,
  undoOf,
} from '../routing/console-handler.js';
import { openedCursor, pagesOf, sealedCursor } from '../routing/list.rules.js';
import {
  contactMasks,
  type ContactMasks,
  formerValuesOf,
  isContact,
  searchedIn,
  textOrNull,
  valuesOf,
} from './user.rules.js';

type Api = typeof consoleApi;
type OneUser = ReplyOf<'getUser'>;
type ExportedUser = ReplyOf<'exportUsers'>;
type UserFilters = Omit<RouteQuery<Api['listUsers']>, 'after' | 'limit' | 'order'>;
type SearchPlace = NonNullable<RpcReply<typeof userSearchRpc.search>['next']>;
/** The total is counted on the first page only. The place can contain a username. */
interface ListedPlace {
  readonly place: SearchPlace;
  readonly total: ReplyOf<'listUsers'>['total'];
}
type Described = RpcReply<typeof userSearchRpc.describe>;
type UserRequest = Pick<ConsoleRequest, 'caller' | 'may'> & { readonly params: { appId: string; userId: string } };

const BUILT_IN = new Set([
  'ACL',
  'authData',
  'createdAt',
  'email',
  'emailVerified',
  'mobilePhoneNumber',
  'mobilePhoneVerified',
  'objectId',
  'sessionToken',
  'updatedAt',
  'username',
]);
/** Fields by which an operator could have a user's password reset. */
const CONTACT = ['email', 'emailVerified', 'mobilePhoneNumber', 'mobilePhoneVerified'];
const UNCHANGEABLE = ['authData', 'createdAt', 'objectId', 'password', 'sessionToken', 'updatedAt'];

/** Viewers see addresses and numbers masked, and cannot search for them. */
@Injectable()
export class UsersHandlers {
  constructor(
    private readonly rpc: RpcClient,
    private readonly sealer: Sealer,
  ) {}

  @Handles(consoleApi.listUsers)
  async list(request: RequestOf<'listUsers'>): Promise<ReplyOf<'listUsers'>> {
    const masks = contactMasks(request.may('users.contact'));
    const { after, limit, order, ...filters } = request.query;
    // The order would reveal masked usernames.
    if (order === 'username') request.require('users.contact');
    const context = `users of ${request.params.appId} by ${order}`;
    const from = after === undefined ? undefined : (openedCursor(after, this.sealer, context) as ListedPlace);
    const search = { ...request.params, ...searchOf(request, filters), order, limit, after: from?.place };
    const { users, next, total } = await this.rpc.call(userSearchRpc.search, search);
    const all = total ?? from?.total ?? { value: users.length, isExact: false };
    return {
      items: users.map((user) => toListedUser(user, masks)),
      next: next === null ? null : sealedCursor({ place: next, total: all }, this.sealer, context),
      total: all,
    };
  }

  @Handles(consoleApi.exportUsers)
  export(request: RequestOf<'exportUsers'>): AsyncIterable<readonly ExportedUser[]> {
    const masks = contactMasks(request.may('users.contact'));
    const { format: _, ids, ...filters } = request.query;
    const { filters: searched, ...others } = searchOf(request, filters);
    const search = { ...request.params, ...others, filters: { ...searched, ids }, limit: MAX_FOUND_USERS };
    // Newest first: times of sign-ups do not change, and new users stand before the first page.
    return pagesOf<ExportedUser, SearchPlace>(async (after) => {
      const page = { ...search, order: 'newest', withFields: true, after } as const;
      const { users, next } = await this.rpc.call(userSearchRpc.search, page);
      const items = users.map(({ fields = {}, ...user }) => ({ ...toListedUser(user, masks), fields }));
      return { items, next };
    });
  }

  @Handles(consoleApi.createUser)
  async create(request: RequestOf<'createUser'>): Promise<OneUser> {
    const { caller, params, body } = request;
    const { fields, ...account } = body;
    refuseUnchangeable(fields);
    if ('ACL' in fields) request.require('users.acl');
    const signedUp = { ...(fields as JsonObject), ...(account as JsonObject) };
    const { user } = await this.rpc.call(accountsRpc.signUp, { caller, fields: signedUp });
    request.act = { target: user.objectId };
    const may: ConsoleRequest['may'] = (permission) => request.may(permission);
    return this.#user({ caller, may, params: { ...params, userId: user.objectId } });
  }

  @Handles(consoleApi.getUser)
  get(request: RequestOf<'getUser'>): Promise<OneUser> {
    return this.#user(request);
  }

  @Handles(consoleApi.changeUser)
  async change(request: RequestOf<'changeUser'>): Promise<ReplyOf<'changeUser'>> {
    const { caller, params, body } = request;
    const { changes, former = {} } = body;
    refuseUnchangeable(changes);
    if ('ACL' in changes) request.require('users.acl');
    if (CONTACT.some((name) => name in changes)) request.requireProof();
    const { user } = await this.#describe(params);
    const names = Object.keys(changes);
    request.act = { before: Object.fromEntries(names.map((name) => [name, user[name] ?? null])) };
    if (!isDeepStrictEqual(valuesOf(user, Object.keys(former)), former)) throw changedSince();
    const update = {
      caller,
      objectId: params.userId,
      changes: changes as JsonObject,
      where: { updatedAt: { __type: 'Date', iso: body.updatedAt ?? user.updatedAt } },
      returnNew: true,
    };
    const { result } = await ifUnchanged(this.rpc.call(accountsRpc.updateUser, update));
    const undo = { changes: formerValuesOf(user, names), former: valuesOf(result, names) };
    return { ...(await this.#user(request)), undo: undoOf(request, 'changeUser', undo) };
  }

  @Handles(consoleApi.endUserSession)
  async endSession({ caller, params }: RequestOf<'endUserSession'>): Promise<ReplyOf<'endUserSession'>> {
    await this.rpc.call(accountsRpc.refreshSessionToken, { caller, objectId: params.userId });
    return {};
  }

  @Handles(consoleApi.sendVerification)
  async sendVerification(request: RequestOf<'sendVerification'>): Promise<ReplyOf<'sendVerification'>> {
    const email = textOrNull((await this.#describe(request.params)).user['email']);
    if (email === null) throw appError('EMAIL_MISSING');
    await this.rpc.call(emailsRpc.requestVerification, { caller: request.caller, body: { email } });
    return { recipient: email };
  }

  @Handles(consoleApi.sendPasswordReset)
  async sendPasswordReset({ caller, params }: RequestOf<'sendPasswordReset'>): Promise<ReplyOf<'sendPasswordReset'>> {
    const { user } = await this.#describe(params);
    const [email, mobilePhoneNumber] = [textOrNull(user['email']), textOrNull(user['mobilePhoneNumber'])];
    if (email !== null) {
      await this.rpc.call(emailsRpc.requestPasswordReset, { caller, body: { email } });
      return { recipient: email, channel: 'mail' };
    }
    if (mobilePhoneNumber === null) throw appError('EMAIL_MISSING');
    await this.rpc.call(phoneNumbersRpc.requestPasswordReset, { caller, body: { mobilePhoneNumber } });
    return { recipient: mobilePhoneNumber, channel: 'sms' };
  }

  @Handles(consoleApi.unlinkAccount)
  async unlink(request: RequestOf<'unlinkAccount'>): Promise<OneUser> {
    const { caller, params, body } = request;
    const { linkedAccounts } = await this.#describe(params);
    const account = linkedAccounts.find(({ platform }) => platform === body.platform);
    if (account === undefined) throw appError('NOT_FOUND', { message: 'The user has no such account.' });
    request.act = { before: account };
    const identities = { link: [], unlink: [body.platform], unproven: [] };
    const update = { caller, objectId: params.userId, changes: {}, identities, returnNew: false };
    await this.rpc.call(accountsRpc.updateUser, update);
    return this.#user(request);
  }

  @Handles(consoleApi.deleteUsers)
  async delete(request: RequestOf<'deleteUsers'>): Promise<ReplyOf<'deleteUsers'>> {
    const objectIds = [...new Set(request.body.userIds)];
    request.act = { target: objectIds.join(' ') };
    await this.rpc.call(objectsRpc.remove, { caller: request.caller, className: '_User', objectIds });
    return { deleted: objectIds.length };
  }

  @Handles(consoleApi.listLockouts)
  async listLockouts(request: RequestOf<'listLockouts'>): Promise<ReplyOf<'listLockouts'>> {
    const { params, query } = request;
    const [lockedUntil, userId] = query.after?.split(',', 2) ?? [];
    const after = lockedUntil === undefined || userId === undefined ? undefined : { lockedUntil, userId };
    const { limit } = query;
    const { lockedUsers } = await this.rpc.call(lockoutsRpc.list, { ...params, limit, after });
    const last = lockedUsers.length < limit ? undefined : lockedUsers.at(-1);
    const masks = contactMasks(request.may('users.contact'));
    const items = lockedUsers.map((user) => ({ ...user, username: masks.name(user.username) }));
    return { items, next: last === undefined ? null : `${last.lockedUntil},${last.userId}` };
  }

  @Handles(consoleApi.listLimitedClients)
  async listLimitedClients(request: RequestOf<'listLimitedClients'>): Promise<ReplyOf<'listLimitedClients'>> {
    const { clients } = await this.rpc.call(gatewayRpc.listLimitedClients, { ...request.params, ...request.query });
    const masks = contactMasks(request.may('users.contact'));
    return { items: clients.map((client) => ({ ...client, network: masks.network(client.network) })) };
  }

  #describe({ appId, userId }: UserRequest['params']): Promise<Described> {
    return this.rpc.call(userSearchRpc.describe, { appId, userId });
  }

  async #user(request: UserRequest): Promise<OneUser> {
    return { user: toUserDetails(await this.#describe(request.params), contactMasks(request.may('users.contact'))) };
  }
}

/** @throws AppError FORBIDDEN without the permission `users.contact`, for a condition and for a search in addresses and numbers */
function searchOf(
  request: Pick<ConsoleRequest, 'may' | 'require'>,
  { text, mode, where, in: field, ...filters }: UserFilters,
) {
  if (where !== undefined || isContact(text)) request.require('users.contact');
  return {
    text: text === '' ? undefined : text,
    in: searchedIn(field, request.may('users.contact')),
    // Masked names would be found letter by letter.
    withoutContactNames: !request.may('users.contact'),
    mode,
    filters,
    where: where === undefined ? undefined : jsonOf(where),
  };
}

function refuseUnchangeable(fields: Readonly<Record<string, unknown>>): void {
  const name = UNCHANGEABLE.find((each) => each in fields);
  if (name !== undefined) throw appError('INCORRECT_TYPE', { message: `${name}: cannot be changed here.` });
}

function jsonOf(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    throw appError('INVALID_QUERY', { message: 'where must be a JSON object.' });
  }
}

function toListedUser({ emailVerified, ...user }: FoundUser, masks: ContactMasks): ListedUser {
  return {
    ...user,
    username: masks.name(user.username),
    emailVerified: emailVerified === true,
    email: masks.email(user.email),
    mobilePhoneNumber: masks.phone(user.mobilePhoneNumber),
  };
}

function toUserDetails(
  { user, hasPassword, roles, linkedAccounts, lockout }: Described,
  masks: ContactMasks,
): UserDetails {
  const { lockedUntil, lockedSince, failures, failedLogins } = lockout;
  return {
    objectId: user.objectId,
    username: masks.name(textOrNull(user['username'])),
    email: masks.email(textOrNull(user['email'])),
    emailVerified: user['emailVerified'] === true,
    mobilePhoneNumber: masks.phone(textOrNull(user['mobilePhoneNumber'])),
    mobilePhoneVerified: user['mobilePhoneVerified'] === true,
    platforms: linkedAccounts.map(({ platform }) => platform),
    lockedUntil,
    createdAt: textOrNull(user['createdAt']) ?? user.updatedAt,
    updatedAt: user.updatedAt,
    fields: Object.fromEntries(Object.entries(user).filter(([name]) => !BUILT_IN.has(name))),
    ACL: (user['ACL'] ?? null) as JsonObject | null,
    hasPassword,
    roles,
    accounts: linkedAccounts,
    lock: {
      lockedUntil,
      lockedSince,
      failures,
      failedAt: failedLogins.map(({ at }) => at),
      methods: failedLogins.map(({ method }) => method ?? 'unknown'),
    },
  };
}

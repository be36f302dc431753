import { Controller } from '@nestjs/common';
import {
  accountsRpc,
  type ApplicationSettings,
  type Caller,
  type IdentityChanges,
  type JsonObject,
  type ObjectWrite,
  type ObjectWriteOptions,
  type RpcData,
  type RpcReply,
} from '#contracts';
import { appError } from '#errors';
import { RpcHandler } from '#messaging';
import { changedFields, changedRoots, inLockOrder, type UserChanges, userClass } from '#objects';
import { ObjectAccess, type ObjectWrites, type PreparedWrite, StoredClasses } from '#objects/store';
import { ApplicationsService } from '../applications/applications.service.js';
import { type NewPassword, PasswordsService } from '../passwords/passwords.service.js';
import { PrincipalsService } from '../sessions/sessions.service.js';
import { change as changeIdentities } from './identity.rules.js';
import { SignUpService, type SingleWrite } from './sign-up.service.js';
import { UserWriter } from './user-writer.js';
import { applyChanges, presentUser, type UserRow } from './user.rules.js';
import { UsersRepository } from './users.repository.js';
import { UsersService } from './users.service.js';

type Accounts = typeof accountsRpc;

/** The passwords of a joint save are hashed before its transaction, within the caller's timeout. */
const MAX_PASSWORDS = 20;

interface UserWriteOptions extends ObjectWriteOptions {
  /** The request's `authData`, as auth-linking has verified it. */
  readonly identities?: IdentityChanges | undefined;
}

@Controller()
export class UsersController {
  constructor(
    classes: StoredClasses,
    private readonly repository: UsersRepository,
    private readonly users: UsersService,
    private readonly signUps: SignUpService,
    private readonly principals: PrincipalsService,
    private readonly objectAccess: ObjectAccess,
    private readonly writer: UserWriter,
    private readonly applications: ApplicationsService,
    private readonly passwords: PasswordsService,
  ) {
    classes.register({ objectClass: userClass, objects: repository, writes: this.writes });
  }

  /** Users as the engine writes them: in joint saves. */
  private get writes(): ObjectWrites {
    return {
      prepareCreate: async (caller, fields, { objectId }) => {
        const prepared = await this.signUps.prepare(caller, fields, objectId === undefined ? {} : { objectId });
        return asObjectWrite(prepared, true);
      },
      prepareUpdate: async (caller, objectId, fields, options) =>
        asObjectWrite(await this.prepareUpdate(caller, objectId, fields, options), false),
      prepareRemove: (caller, objectId, { condition }) => ({
        objectId,
        run: (tx) => this.users.removeOne(tx, caller, objectId, condition),
      }),
      assertSaveable: assertFewPasswords,
      lock: (tx, appId, writes) => {
        const ids = writes.map(({ objectId }) => objectId);
        return this.repository.lockMany(tx, appId, inLockOrder(ids));
      },
    };
  }

  @RpcHandler(accountsRpc.signUp)
  async signUp({ caller, fields }: RpcData<Accounts['signUp']>): Promise<RpcReply<Accounts['signUp']>> {
    return { user: await this.signUps.signUp(caller, fields), isNew: true };
  }

  @RpcHandler(accountsRpc.getUser)
  async get({ caller, objectId, ...options }: RpcData<Accounts['getUser']>): Promise<RpcReply<Accounts['getUser']>> {
    return { user: await this.users.get(caller, objectId, options) };
  }

  @RpcHandler(accountsRpc.getCurrentUser)
  async getCurrent({ caller }: RpcData<Accounts['getCurrentUser']>): Promise<RpcReply<Accounts['getCurrentUser']>> {
    return { user: await this.users.getCurrent(caller) };
  }

  /** PUT /1.1/users/<objectId> (decisions, body of PUT) */
  @RpcHandler(accountsRpc.updateUser)
  async update({
    caller,
    objectId,
    changes,
    ...options
  }: RpcData<Accounts['updateUser']>): Promise<RpcReply<Accounts['updateUser']>> {
    const prepared = await this.prepareUpdate(caller, objectId, changes, options);
    return { result: await prepared.runAlone() };
  }

  @RpcHandler(accountsRpc.updatePassword)
  async updatePassword({
    caller,
    objectId,
    passwords,
  }: RpcData<Accounts['updatePassword']>): Promise<RpcReply<Accounts['updatePassword']>> {
    return { result: await this.users.updatePassword(caller, objectId, passwords) };
  }

  @RpcHandler(accountsRpc.removeUsers)
  async remove({
    caller,
    objectIds,
    where,
  }: RpcData<Accounts['removeUsers']>): Promise<RpcReply<Accounts['removeUsers']>> {
    await this.users.remove(caller, objectIds, where);
    return {};
  }

  @RpcHandler(accountsRpc.resolvePrincipal)
  async resolvePrincipal({
    caller,
  }: RpcData<Accounts['resolvePrincipal']>): Promise<RpcReply<Accounts['resolvePrincipal']>> {
    return { principal: await this.principals.of(caller) };
  }

  @RpcHandler(accountsRpc.refreshSessionToken)
  async refreshSessionToken({
    caller,
    objectId,
  }: RpcData<Accounts['refreshSessionToken']>): Promise<RpcReply<Accounts['refreshSessionToken']>> {
    return { user: await this.users.refreshSessionToken(caller, objectId) };
  }

  private async prepareUpdate(
    caller: Caller,
    objectId: string,
    fields: JsonObject,
    options: UserWriteOptions,
  ): Promise<SingleWrite<JsonObject>> {
    const changes = userClass.parse(fields, caller.isMaster);
    await this.objectAccess.assertMay(caller, 'update', '_User');
    const condition = await this.objectAccess.conditionOf(caller, '_User', options.where);
    const settings = await this.applications.settingsOf(caller.appId);
    const password = await this.preparePassword(caller, objectId, changes, settings);
    const changed = (current: UserRow): UserRow => ({
      ...applyChanges(current, changes, settings),
      ...linked(current, options),
      ...password?.columns,
    });
    const run: SingleWrite<JsonObject>['run'] = async (tx) => {
      const user = await this.writer.change(tx, caller, objectId, async (current) => {
        await this.users.assertMayWrite(caller, current, tx);
        await condition.assertMet(tx, objectId);
        return changed(current);
      });
      if (user === undefined) throw this.users.missing(caller);
      const sessionToken = password?.sessionToken;
      return { ...answer(user, fields, options), ...(sessionToken === undefined ? {} : { sessionToken }) };
    };
    const runAlone: SingleWrite<JsonObject>['runAlone'] = async () => {
      const user = isOfContent(changes, options) ? await this.changeContent(caller, objectId, changed) : undefined;
      return user === undefined ? this.writer.transaction(run) : answer(user, fields, options);
    };
    return { objectId, run, runAlone };
  }

  private changeContent(
    caller: Caller,
    objectId: string,
    changed: (current: UserRow) => UserRow,
  ): Promise<UserRow | undefined> {
    return this.writer.changeContent(caller.appId, objectId, async (current) => {
      await this.users.assertMayWrite(caller, current);
      return changed(current);
    });
  }

  /** Hashes a new password before the transaction, and only for a caller who may change the user. */
  private async preparePassword(
    caller: Caller,
    objectId: string,
    { password }: UserChanges,
    settings: ApplicationSettings,
  ): Promise<NewPassword | undefined> {
    if (password === undefined) return undefined;
    await this.users.loadForWrite(caller, objectId);
    if (settings.requireOldPassword && !caller.isMaster) {
      throw appError('CLIENT_NOT_ALLOWED', {
        message: 'The setting requireOldPassword is on: change the password with updatePassword and the old one.',
      });
    }
    return this.passwords.prepare(objectId, password, settings.reloginAfterPasswordChange);
  }
}

/** @throws AppError NOT_SUPPORTED */
function assertFewPasswords(writes: readonly Pick<ObjectWrite, 'fields'>[]): void {
  if (writes.filter(({ fields }) => Object.hasOwn(fields, 'password')).length <= MAX_PASSWORDS) return;
  const message = `A joint save may set ${MAX_PASSWORDS} passwords at most. A batch may set more.`;
  throw appError('NOT_SUPPORTED', { message });
}

function asObjectWrite(write: PreparedWrite<JsonObject>, isNew: boolean): PreparedWrite {
  const { objectId } = write;
  return { objectId, run: async (tx) => ({ objectId, isNew, result: await write.run(tx) }) };
}

/** Whether the write changes only custom fields and the ACL, and has no condition. */
function isOfContent(changes: UserChanges, { where, identities }: UserWriteOptions): boolean {
  const isContent = Object.keys(changes).every((name) => name === 'custom' || name === 'acl');
  return isContent && where === undefined && identities === undefined;
}

function linked({ identities: current }: UserRow, { identities }: UserWriteOptions): Pick<UserRow, 'identities'> {
  return { identities: identities === undefined ? current : changeIdentities(current, identities) };
}

/** Decisions, body of PUT: unlinking returns the id too. */
function answer(user: UserRow, fields: JsonObject, { identities, returnNew }: UserWriteOptions): JsonObject {
  // A password removes the anonymous entry, so it may have changed authData too.
  const isAuthDataNews = identities !== undefined || Object.hasOwn(fields, 'password');
  const names = [...changedRoots(fields), ...(isAuthDataNews ? ['authData'] : [])];
  return {
    updatedAt: user.updatedAt.toISOString(),
    ...(identities !== undefined && identities.unlink.length > 0 ? { objectId: user.objectId } : {}),
    ...(returnNew ? changedFields(presentUser(user, { viewer: 'owner' }), names) : {}),
  };
}

import { Injectable } from '@nestjs/common';
import type { ApplicationSettings, Caller, JsonObject, ObjectWrite } from '#contracts';
import type { Tx } from '#database';
import { appError } from '#errors';
import { changedFields, changedRoots, type UserChanges, userClass } from '#objects';
import {
  type CreateOptions,
  ObjectAccess,
  type ObjectWrites,
  type PreparedWrite,
  type RemovalAccess,
  StoredClasses,
  type UpdateOptions,
} from '#objects/store';
import { ApplicationsService } from '../applications/applications.service.js';
import { type NewPassword, PasswordsService } from '../passwords/passwords.service.js';
import { changeIdentities } from './identity.rules.js';
import { SignUpService } from './sign-up.service.js';
import { UserImports } from './user-imports.js';
import { type SingleWrite, UserTransactions } from './user-transactions.js';
import { applyChanges, presentUser, type UserRow } from './user.rules.js';
import { UsersRepository } from './users.repository.js';
import { UsersService } from './users.service.js';

/** The passwords of a joint save are hashed before its transaction, within the caller's timeout. */
const MAX_PASSWORDS = 20;

const VERIFIED_FLAGS = new Map([
  ['email', 'emailVerified'],
  ['mobilePhoneNumber', 'mobilePhoneVerified'],
]);

/** Lets the object engine write users, in removals and joint saves. A change of one user alone may need no lock. */
@Injectable()
export class UserObjectWrites implements ObjectWrites {
  constructor(
    classes: StoredClasses,
    private readonly repository: UsersRepository,
    private readonly users: UsersService,
    private readonly signUps: SignUpService,
    private readonly objectAccess: ObjectAccess,
    private readonly transactions: UserTransactions,
    private readonly applications: ApplicationsService,
    private readonly passwords: PasswordsService,
    imports: UserImports,
  ) {
    classes.register({ objectClass: userClass, objects: repository, writes: this, imports });
  }

  async prepareCreate(caller: Caller, fields: JsonObject, { objectId }: CreateOptions): Promise<PreparedWrite> {
    const prepared = await this.signUps.prepare(caller, fields, objectId === undefined ? {} : { objectId });
    return asObjectWrite(prepared, { isNew: true });
  }

  async prepareUpdate(
    caller: Caller,
    objectId: string,
    fields: JsonObject,
    options: UpdateOptions,
  ): Promise<PreparedWrite> {
    return asObjectWrite(await this.prepareChange(caller, objectId, fields, options), { isNew: false });
  }

  /** @throws AppError the write as for a change; NO_EFFECT where the user does not meet the condition */
  prepareRemove(caller: Caller, objectId: string, { condition }: RemovalAccess): PreparedWrite<void> {
    return {
      objectId,
      rowLock: 'UPDATE',
      run: async (tx) => {
        const isRemoved = await this.transactions.remove(tx, caller, objectId, async (current) => {
          await this.users.assertMayWrite(caller, current, tx);
          await condition.assertMet(tx, current);
        });
        if (!isRemoved) throw this.users.missing(caller);
      },
    };
  }

  assertSaveable(writes: readonly Pick<ObjectWrite, 'fields'>[]): void {
    if (writes.filter(({ fields }) => Object.hasOwn(fields, 'password')).length <= MAX_PASSWORDS) return;
    const message = `A joint save may set ${MAX_PASSWORDS} passwords at most. A batch may set more.`;
    throw appError('NOT_SUPPORTED', { message });
  }

  lock(tx: Tx, appId: string, writes: readonly PreparedWrite<unknown>[]): Promise<void> {
    return this.repository.lockMany(tx, appId, writes);
  }

  async prepareChange(
    caller: Caller,
    objectId: string,
    fields: JsonObject,
    options: UpdateOptions,
  ): Promise<SingleWrite<JsonObject>> {
    const changes = userClass.parse(fields, caller.isMaster);
    await this.objectAccess.assertMay(caller, 'update', '_User');
    const condition = await this.objectAccess.conditionOf(caller, '_User', options.where);
    const settings = await this.applications.settingsOf(caller.appId);
    const password = await this.#preparePassword(caller, objectId, changes, settings);
    const changed = (current: UserRow): UserRow => {
      if (password !== undefined) assertMaySetPassword(caller, current, settings);
      return {
        ...applyChanges(current, changes, settings),
        ...identitiesAfter(current, options),
        ...password?.columns,
      };
    };
    const run: SingleWrite<JsonObject>['run'] = async (tx) => {
      const user = await this.transactions.change(tx, caller, objectId, async (current) => {
        await this.users.assertMayWrite(caller, current, tx);
        await condition.assertMet(tx, current);
        return changed(current);
      });
      if (user === undefined) throw this.users.missing(caller);
      const sessionToken = password?.sessionToken;
      return { ...changeResponse(user, fields, options), ...(sessionToken === undefined ? {} : { sessionToken }) };
    };
    const runAlone: SingleWrite<JsonObject>['runAlone'] = async () => {
      const user = isContentChange(changes, options) ? await this.#changeContent(caller, objectId, changed) : undefined;
      return user === undefined ? this.transactions.run(run) : changeResponse(user, fields, options);
    };
    const uniqueValues = userClass.uniqueValuesOf(changes);
    return { objectId, uniqueValues, ...(changesUniqueValue(changes) ? { rowLock: 'UPDATE' } : {}), run, runAlone };
  }

  #changeContent(
    caller: Caller,
    objectId: string,
    changed: (current: UserRow) => UserRow,
  ): Promise<UserRow | undefined> {
    return this.transactions.changeContent(caller.appId, objectId, async (current) => {
      await this.users.assertMayWrite(caller, current);
      return changed(current);
    });
  }

  /** Hashes a new password before the transaction, and only for a caller who may change the user. */
  async #preparePassword(
    caller: Caller,
    objectId: string,
    { password }: UserChanges,
    settings: ApplicationSettings,
  ): Promise<NewPassword | undefined> {
    if (password === undefined) return undefined;
    assertMaySetPassword(caller, await this.users.loadForWrite(caller, objectId), settings);
    return this.passwords.prepare(objectId, password, { renewsSession: settings.reloginAfterPasswordChange });
  }
}

/** A first password replaces none, so the setting does not concern it. @throws AppError CLIENT_NOT_ALLOWED */
function assertMaySetPassword(caller: Caller, current: UserRow, { requireOldPassword }: ApplicationSettings): void {
  if (!requireOldPassword || caller.isMaster || current.passwordHash === null) return;
  throw appError('CLIENT_NOT_ALLOWED', {
    message: 'The setting requireOldPassword is on: change the password with updatePassword and the old one.',
  });
}

function asObjectWrite(write: PreparedWrite<JsonObject>, { isNew }: { readonly isNew: boolean }): PreparedWrite {
  const { objectId } = write;
  return { ...write, run: async (tx) => ({ objectId, isNew, result: await write.run(tx) }) };
}

/** A password may renew the session token, which is unique too. */
function changesUniqueValue(changes: UserChanges): boolean {
  return ['username', 'email', 'mobilePhoneNumber', 'password'].some((name) => Object.hasOwn(changes, name));
}

function isContentChange(changes: UserChanges, { where, identities }: UpdateOptions): boolean {
  const isContent = Object.keys(changes).every((name) => name === 'custom' || name === 'acl');
  return isContent && where === undefined && identities === undefined;
}

function identitiesAfter({ identities: current }: UserRow, { identities }: UpdateOptions): Pick<UserRow, 'identities'> {
  return { identities: identities === undefined ? current : changeIdentities(current, identities) };
}

/** The response to a change. Unlinking an account returns the id too (specification, authData). */
function changeResponse(user: UserRow, fields: JsonObject, { identities, returnNew }: UpdateOptions): JsonObject {
  const unlinks = identities !== undefined && identities.unlink.length > 0;
  const reply = { updatedAt: user.updatedAt.toISOString(), ...(unlinks ? { objectId: user.objectId } : {}) };
  if (!returnNew) return reply;
  // A password removes the anonymous entry, so it may have changed authData too.
  const mayChangeAuthData = identities !== undefined || Object.hasOwn(fields, 'password');
  const changed = changedRoots(fields);
  const flags = changed.flatMap((name) => VERIFIED_FLAGS.get(name) ?? []);
  const names = [...changed, ...flags, ...(mayChangeAuthData ? ['authData'] : [])];
  return { ...reply, ...changedFields(presentUser(user, { viewer: 'owner' }), names) };
}

import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject, ObjectReadOptions, VisibleUser } from '#contracts';
import type { Tx } from '#database';
import { type AppError, appError } from '#errors';
import { granteesOf, grants, type ObjectView, parsePassword, pickKeys, writeForbidden } from '#objects';
import { ObjectAccess, ObjectReader } from '#objects/store';
import { ApplicationsService } from '../applications/applications.service.js';
import { PasswordsService } from '../passwords/passwords.service.js';
import { PrincipalsService, SessionTokens } from '../sessions/session-tokens.js';
import { UserTransactions } from './user-transactions.js';
import { presentUser, type UserRow, type VisibleRow } from './user.rules.js';
import { UsersRepository } from './users.repository.js';

/** Reads users, decides which callers may read and change them, and changes what only their owners change. */
@Injectable()
export class UsersService {
  readonly #provenOwners = new WeakMap<Tx, Set<string>>();

  constructor(
    private readonly objectAccess: ObjectAccess,
    private readonly reader: ObjectReader,
    private readonly users: UsersRepository,
    private readonly transactions: UserTransactions,
    private readonly sessions: SessionTokens,
    private readonly principals: PrincipalsService,
    private readonly applications: ApplicationsService,
    private readonly passwords: PasswordsService,
  ) {}

  /** GET /1.1/users/<objectId>. Most requests cost one lookup: the caller is resolved only where an ACL depends on it. */
  async get(caller: Caller, objectId: string, options: ObjectReadOptions): Promise<VisibleUser> {
    if (options.include !== undefined) return this.#getWithIncluded(caller, objectId, options);
    await this.objectAccess.assertMay(caller, 'get', '_User');
    const user = await this.users.findVisible(caller.appId, objectId);
    if (user === undefined) throw appError('USER_NOT_FOUND');
    const viewer = await this.viewer(caller, user);
    const hideContact = viewer === 'other' && (await this.applications.settingsOf(caller.appId)).hideContact;
    const shown = presentUser(user, { viewer, hideContact, returnAcl: options.returnAcl });
    return pickKeys(shown, options.keys) as VisibleUser;
  }

  async current({ appId, sessionToken }: Caller): Promise<VisibleRow | undefined> {
    if (sessionToken === undefined) return undefined;
    return this.users.findBySessionToken(appId, this.sessions.hashes(sessionToken));
  }

  async getCurrent(caller: Caller): Promise<VisibleUser> {
    const { sessionToken } = caller;
    const user = await this.current(caller);
    if (user === undefined || sessionToken === undefined) throw appError('USER_NOT_FOUND');
    return presentUser(user, { viewer: 'owner', sessionToken });
  }

  /** @throws AppError PASSWORD_MISMATCH where the old password is wrong (the master key needs it too); LOCKED_OUT as for logins */
  async updatePassword(caller: Caller, objectId: string, passwords: JsonObject): Promise<JsonObject> {
    const oldPassword = parsePassword(passwords['old_password']);
    const newPassword = parsePassword(passwords['new_password']);
    const verified = await this.loadForWrite(caller, objectId);
    await this.passwords.verify(caller.appId, verified, { password: oldPassword, method: 'oldPassword' });
    const { reloginAfterPasswordChange: renewsSession } = await this.applications.settingsOf(caller.appId);
    const prepared = await this.passwords.prepare(objectId, newPassword, { renewsSession });
    const user = await this.transactions.run((tx) =>
      this.transactions.change(tx, caller, objectId, async (current) => {
        await this.assertMayWrite(caller, current, tx);
        // The old password was verified before the lock: a concurrent change invalidates that result.
        if (current.passwordVersion !== verified.passwordVersion) throw appError('PASSWORD_MISMATCH');
        return { ...current, ...prepared.columns };
      }),
    );
    if (user === undefined) throw this.missing(caller);
    return {
      updatedAt: user.updatedAt.toISOString(),
      objectId,
      sessionToken: prepared.sessionToken ?? this.sessions.reveal(user),
    };
  }

  /** The old token is invalid once this returns. @throws AppError SESSION_REQUIRED; for the master key USER_NOT_FOUND */
  async refreshSessionToken(caller: Caller, objectId: string): Promise<VisibleUser> {
    const session = this.sessions.create(objectId);
    const user = await this.transactions.run((tx) =>
      this.transactions.change(tx, caller, objectId, (current) => {
        if (!caller.isMaster && !this.isOwner(caller, current)) throw appError('SESSION_REQUIRED');
        return { ...current, ...session.columns };
      }),
    );
    if (user === undefined) throw this.missing(caller);
    return presentUser(user, { viewer: 'owner', sessionToken: session.token });
  }

  /** The ACL restricts a session, never extends rights. @throws AppError SESSION_REQUIRED without the user's own; FORBIDDEN by the ACL */
  async assertMayWrite(caller: Caller, user: UserRow, tx?: Tx): Promise<void> {
    if (caller.isMaster) return;
    if (!this.#owns(caller, user, tx)) throw appError('SESSION_REQUIRED');
    if (grants(user.acl, 'write', ['*', user.objectId])) return;
    const self = await this.principals.ofUser(caller.appId, user.objectId, tx);
    if (!grants(user.acl, 'write', granteesOf(self))) throw writeForbidden();
  }

  /** @throws AppError as `assertMayWrite`; for the master key USER_NOT_FOUND */
  async loadForWrite(caller: Caller, objectId: string): Promise<UserRow> {
    const user = await this.users.find(caller.appId, objectId);
    if (user === undefined) throw this.missing(caller);
    await this.assertMayWrite(caller, user);
    return user;
  }

  /** The error of a write to a missing user: no session can belong to it. */
  missing(caller: Caller): AppError {
    return appError(caller.isMaster ? 'USER_NOT_FOUND' : 'SESSION_REQUIRED');
  }

  /** @throws AppError USER_NOT_FOUND where the ACL hides the user */
  async viewer(caller: Caller, user: VisibleRow): Promise<ObjectView['viewer']> {
    if (caller.isMaster) return 'master';
    const viewer = this.isOwner(caller, user) ? 'owner' : 'other';
    if (user.acl !== null && !grants(user.acl, 'read', granteesOf(await this.principals.of(caller))))
      throw appError('USER_NOT_FOUND');
    return viewer;
  }

  isOwner(caller: Caller, user: VisibleRow): boolean {
    return this.sessions.matches(caller.sessionToken, user.sessionTokenHash);
  }

  /** An owner stays proven for the transaction: a joint save can replace the session token that it came with. */
  #owns(caller: Caller, user: UserRow, tx?: Tx): boolean {
    const proven = tx && this.#provenOwners.get(tx);
    if (proven?.has(user.objectId) === true) return true;
    const isOwner = this.isOwner(caller, user);
    if (isOwner && tx !== undefined) this.#provenOwners.set(tx, (proven ?? new Set()).add(user.objectId));
    return isOwner;
  }

  async #getWithIncluded(caller: Caller, objectId: string, options: ObjectReadOptions): Promise<VisibleUser> {
    const user: JsonObject | undefined = await this.reader.get(caller, '_User', objectId, options);
    if (user === undefined) throw appError('USER_NOT_FOUND');
    return user as VisibleUser;
  }
}

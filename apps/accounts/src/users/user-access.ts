import { Injectable } from '@nestjs/common';
import type { Caller } from '#contracts';
import type { Tx } from '#database';
import { type AppError, appError } from '#errors';
import { granteesOf, grants, writeForbidden } from '#objects';
import { PrincipalsService } from '../principals/principals.service.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import type { UserView } from './user.presenter.js';
import type { UserRow } from './user.row.js';
import { UsersRepository } from './users.repository.js';

/** Decides who may read and write a user. */
@Injectable()
export class UserAccess {
  constructor(
    private readonly users: UsersRepository,
    private readonly sessions: SessionTokens,
    private readonly principals: PrincipalsService,
  ) {}

  /**
   * Only the user's own session and the master key write; the ACL restricts the session further, it never widens.
   * @throws AppError SESSION_REQUIRED where the session is missing, foreign or outdated; FORBIDDEN where the ACL refuses
   */
  async assertMayWrite(caller: Caller, user: UserRow, tx?: Tx): Promise<void> {
    if (caller.isMaster) return;
    if (!this.isOwner(caller, user)) throw appError('SESSION_REQUIRED');
    if (grants(user.acl, 'write', ['*', user.objectId])) return;
    const self = await this.principals.ofUser(caller.appId, user.objectId, tx);
    if (!grants(user.acl, 'write', granteesOf(self))) throw writeForbidden();
  }

  /** The user, where the caller may write it. @throws AppError as `assertMayWrite`; USER_NOT_FOUND to the master key */
  async loadForWrite(caller: Caller, objectId: string): Promise<UserRow> {
    const user = await this.users.find(caller.appId, objectId);
    if (user === undefined) throw this.missing(caller);
    await this.assertMayWrite(caller, user);
    return user;
  }

  /** What a write to a user that is not there answers: no session can belong to it. */
  missing(caller: Caller): AppError {
    return appError(caller.isMaster ? 'USER_NOT_FOUND' : 'SESSION_REQUIRED');
  }

  /** How the caller sees the user. @throws AppError USER_NOT_FOUND where the ACL hides it */
  async viewer(caller: Caller, user: UserRow): Promise<UserView['viewer']> {
    if (caller.isMaster) return 'master';
    const viewer = this.isOwner(caller, user) ? 'owner' : 'other';
    if (user.acl !== null && !grants(user.acl, 'read', granteesOf(await this.principals.of(caller))))
      throw appError('USER_NOT_FOUND');
    return viewer;
  }

  isOwner(caller: Caller, user: UserRow): boolean {
    return this.sessions.matches(caller.sessionToken, user.sessionTokenHash);
  }
}

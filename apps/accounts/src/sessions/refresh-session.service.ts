import { Injectable } from '@nestjs/common';
import type { Caller, VisibleUser } from '#contracts';
import { appError } from '#errors';
import { UserAccess } from '../users/user-access.js';
import { presentUser } from '../users/user.presenter.js';
import { UserWriter } from '../users/user-writer.js';
import { SessionTokens } from './session-tokens.js';

/** PUT /1.1/users/<objectId>/refreshSessionToken. */
@Injectable()
export class RefreshSessionService {
  constructor(
    private readonly writer: UserWriter,
    private readonly access: UserAccess,
    private readonly sessions: SessionTokens,
  ) {}

  /** The old token is dead once this returns. @throws AppError SESSION_REQUIRED; USER_NOT_FOUND to the master key */
  async refresh(caller: Caller, objectId: string): Promise<VisibleUser> {
    const session = this.sessions.create(objectId);
    const user = await this.writer.transaction((tx) =>
      this.writer.change(tx, caller, objectId, (current) => {
        if (!caller.isMaster && !this.access.isOwner(caller, current)) throw appError('SESSION_REQUIRED');
        return { ...current, ...session.columns };
      }),
    );
    if (user === undefined) throw this.access.missing(caller);
    return presentUser(user, { viewer: 'owner', sessionToken: session.token });
  }
}

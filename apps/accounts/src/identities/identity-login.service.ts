import { Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { Identity, VisibleUser } from '#contracts';
import { appError } from '#errors';
import { ApplicationsService } from '../applications/applications.service.js';
import { LockoutService } from '../lockout/lockout.service.js';
import { assertMayLogIn } from '../login/login.rules.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { UserWriter } from '../users/user-writer.js';
import { presentUser } from '../users/user.presenter.js';
import type { UserRow } from '../users/user.row.js';
import { UsersRepository } from '../users/users.repository.js';
import { isFirstProof, isLinkedAlready, keysOf, link } from './identity.rules.js';
import { isNoteDue } from './login-note.rules.js';
import type { Ownership } from './owner.rules.js';

/** Lets in users by identities that are theirs. */
@Injectable()
export class IdentityLoginService {
  constructor(
    private readonly users: UsersRepository,
    private readonly writer: UserWriter,
    private readonly applications: ApplicationsService,
    private readonly lockouts: LockoutService,
    private readonly sessions: SessionTokens,
    private readonly clock: Clock,
  ) {}

  /**
   * @returns undefined where the user is gone, or has a new session token
   * @throws AppError LOCKED_OUT, EMAIL_UNVERIFIED, PHONE_UNVERIFIED; IDENTITY_TAKEN where one of the identities has another
   * owner by now, or none
   */
  async logIn(appId: string, owner: Ownership<UserRow>): Promise<VisibleUser | undefined> {
    const { user: found } = owner;
    await this.lockouts.assertNotLocked({ appId, userId: found.objectId });
    assertMayLogIn(found, await this.applications.settingsOf(appId));
    const isNothingNew = isLinkedAlready(found.identities, owner.identities);
    const user = isNothingNew ? await this.note(appId, found) : await this.refresh(appId, owner);
    return user === undefined
      ? undefined
      : presentUser(user, { viewer: 'owner', sessionToken: this.sessions.reveal(user) });
  }

  /** The usual login: every entry is stored as it was sent, so that only the time is news. */
  private async note(appId: string, found: UserRow): Promise<UserRow | undefined> {
    const now = this.clock.now();
    if (!isNoteDue(found, now)) return found;
    const updatedAt = await this.users.noteLogin(appId, found, now);
    return updatedAt === undefined ? undefined : { ...found, updatedAt };
  }

  /** Stores what the entries bring: newer tokens, further platforms. */
  private async refresh(appId: string, { user: found, identities }: Ownership<UserRow>): Promise<UserRow | undefined> {
    return this.writer.transaction((tx) =>
      this.writer.change(tx, { appId }, found.objectId, (current) => {
        assertStillTheirs(identities, found, current);
        return {
          ...current,
          identities: link(current.identities, identities),
          // Until now nobody had proven it: whoever came in by it before has to prove it as well.
          ...(isFirstProof(current.identities, identities) ? this.sessions.create(current.objectId).columns : {}),
        };
      }),
    );
  }
}

/** @throws AppError IDENTITY_TAKEN where what let the user in was unlinked meanwhile */
function assertStillTheirs(identities: readonly Identity[], found: UserRow, current: UserRow): void {
  const isUnlinked = keysOf(identities).some(
    ({ platform, uid }) =>
      found.identities?.get(platform)?.uid === uid && current.identities?.get(platform)?.uid !== uid,
  );
  if (isUnlinked) throw appError('IDENTITY_TAKEN');
}

import { Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { ApplicationSettings } from '#contracts';
import { newObjectId } from '#objects';
import type { LinkedIdentities } from '../identities/linked-identities.types.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import type { UserChanges } from './user-changes.rules.js';
import type { UserRow } from './user.row.js';
import { applyChanges } from './user.rules.js';

/** A user that is not stored yet. */
export interface NewUser {
  readonly user: UserRow;
  readonly sessionToken: string;
}

/** What a new user is made of. */
export interface UserDraft {
  readonly changes: UserChanges & { readonly username: string };
  readonly passwordHash: string | null;
  readonly settings: ApplicationSettings;
  /** Made up unless given. */
  readonly objectId?: string | undefined;
  readonly identities?: LinkedIdentities | undefined;
}

/** Makes users: with an id, the time, and a session token. */
@Injectable()
export class UserFactory {
  constructor(
    private readonly sessions: SessionTokens,
    private readonly clock: Clock,
  ) {}

  create({ changes, passwordHash, settings, objectId: wantedId, identities }: UserDraft): NewUser {
    const now = this.clock.now();
    const objectId = wantedId ?? newObjectId(now);
    const session = this.sessions.create(objectId);
    const blank: UserRow = {
      objectId,
      username: changes.username,
      email: null,
      emailVerified: null,
      emailVersion: 0,
      mobilePhoneNumber: null,
      mobilePhoneVerified: false,
      passwordHash,
      passwordVersion: 0,
      ...session.columns,
      identities: identities ?? null,
      acl: null,
      fields: {},
      createdAt: now,
      updatedAt: now,
    };
    return { user: applyChanges(blank, changes, settings), sessionToken: session.token };
  }
}

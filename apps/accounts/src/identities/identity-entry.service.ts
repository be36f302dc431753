import { Injectable } from '@nestjs/common';
import type { Caller, Identity, JsonObject, VisibleUser } from '#contracts';
import { AppError, appError } from '#errors';
import { isAbsent } from '#objects';
import { newUsername } from '../random-ids.js';
import { SignUpService } from '../users/sign-up.service.js';
import { parseUserChanges } from '../users/user-changes.rules.js';
import type { UserDraft } from '../users/user.factory.js';
import { UsersRepository } from '../users/users.repository.js';
import { IdentityLoginService } from './identity-login.service.js';
import { keysOf, link } from './identity.rules.js';
import { findOwner } from './owner.rules.js';

/** Each try that fails means that somebody else has just got one of the identities, or lost it. */
const MAX_TRIES = 5;

/** What a sign-up with `authData` brings. */
interface EntryRequest {
  readonly fields: JsonObject;
  /** Proven, every one. */
  readonly identities: readonly Identity[];
  readonly failOnNotExist: boolean;
}

/** A user who was let in by its identities. */
interface Entry {
  readonly user: VisibleUser;
  readonly isNew: boolean;
}

/** POST /1.1/users with `authData`: whoever has the identities gets into its account, or into a new one. */
@Injectable()
export class IdentityEntryService {
  constructor(
    private readonly users: UsersRepository,
    private readonly signUps: SignUpService,
    private readonly logins: IdentityLoginService,
  ) {}

  /**
   * @throws AppError IDENTITY_TAKEN where they belong to several users; USER_NOT_FOUND where nobody has them and
   * `failOnNotExist` is set; as `SignUpService.signUp`, `IdentityLoginService.logIn`
   */
  async enter(caller: Caller, request: EntryRequest): Promise<Entry> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const entry = await this.tryToEnter(caller, request);
      if (entry !== undefined) return entry;
    }
    throw appError('SERVICE_UNAVAILABLE');
  }

  /** @returns undefined where what was found is no longer so */
  private async tryToEnter(caller: Caller, request: EntryRequest): Promise<Entry | undefined> {
    const owned = await this.users.findByIdentities(caller.appId, keysOf(request.identities));
    const owner = findOwner(request.identities, owned);
    try {
      if (owner === undefined) return { user: await this.signUp(caller, request), isNew: true };
      const user = await this.logins.logIn(caller.appId, owner);
      return user === undefined ? undefined : { user, isNew: false };
    } catch (error) {
      // A moment ago it was otherwise.
      if (error instanceof AppError && error.is('IDENTITY_TAKEN')) return undefined;
      throw error;
    }
  }

  private async signUp(caller: Caller, { fields, identities, failOnNotExist }: EntryRequest): Promise<VisibleUser> {
    if (failOnNotExist) throw appError('USER_NOT_FOUND');
    const changes = parseSignUp(fields, caller.isMaster);
    const prepared = await this.signUps.prepareUser(caller, changes, { identities: link(null, identities) });
    return prepared.runAlone();
  }
}

/** Specification, POST /1.1/users with authData: the service generates a random username; a password is not needed. */
function parseSignUp({ username, password, ...others }: JsonObject, isMaster: boolean): UserDraft['changes'] {
  const credentials = {
    ...(isAbsent(username) ? {} : { username }),
    ...(isAbsent(password) ? {} : { password }),
  };
  return { username: newUsername(), ...parseUserChanges({ ...others, ...credentials }, isMaster) };
}

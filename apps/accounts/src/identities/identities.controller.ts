import { Controller } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { accountsRpc, type Caller, identitiesRpc, type RpcData, type RpcReply, type VisibleUser } from '#contracts';
import { appError, AppError } from '#errors';
import { RpcHandler } from '#messaging';
import { ApplicationsService } from '../applications/applications.service.js';
import { LockoutService } from '../lockout/lockout.service.js';
import { newUsername, SessionTokens } from '../sessions/session-tokens.js';
import { DailyCounts } from '../users/daily-counts.js';
import { IdentitiesRepository } from '../users/identities.repository.js';
import {
  assertStillTheirs,
  findOwner,
  isFirstProof,
  isLinkedAlready,
  keysOf,
  linkIdentities,
  type Ownership,
} from '../users/identity.rules.js';
import { SignUpService, TAKEN } from '../users/sign-up.service.js';
import { UserTransactions } from '../users/user-transactions.js';
import { assertMayLogIn, isLoginRecordDue, parseEntryFields, presentUser, type UserRow } from '../users/user.rules.js';
import { UsersRepository } from '../users/users.repository.js';

type Identities = typeof identitiesRpc;
type Entry = RpcData<typeof accountsRpc.signUpOrLogInByIdentity>;
/** Auth-linking has verified its identities. */
type EntryRequest = Omit<Entry, 'caller'>;
type EntryReply = RpcReply<typeof accountsRpc.signUpOrLogInByIdentity>;

/** A try fails only if a concurrent request has just linked or unlinked one of the identities. */
const MAX_TRIES = 5;

@Controller()
export class IdentitiesController {
  constructor(
    private readonly users: UsersRepository,
    private readonly identities: IdentitiesRepository,
    private readonly signUps: SignUpService,
    private readonly transactions: UserTransactions,
    private readonly applications: ApplicationsService,
    private readonly lockouts: LockoutService,
    private readonly sessions: SessionTokens,
    private readonly counts: DailyCounts,
    private readonly clock: Clock,
  ) {}

  /** POST /1.1/users with `authData`. @throws AppError IDENTITY_TAKEN where several users have them; as `SignUpService.signUp` */
  @RpcHandler(accountsRpc.signUpOrLogInByIdentity)
  async signUpOrLogIn({ caller, ...request }: Entry): Promise<EntryReply> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const entry = await this.#tryOnce(caller, request);
      if (entry !== undefined) return entry;
    }
    throw appError('SERVICE_UNAVAILABLE');
  }

  @RpcHandler(identitiesRpc.count)
  async count({ appId }: RpcData<Identities['count']>): Promise<RpcReply<Identities['count']>> {
    return { platforms: await this.identities.count(appId) };
  }

  /** @returns undefined where a concurrent change made the lookup outdated */
  async #tryOnce(caller: Caller, request: EntryRequest): Promise<EntryReply | undefined> {
    const owned = await this.users.findByIdentities(caller.appId, keysOf(request.identities));
    const owner = findOwner(request.identities, owned);
    try {
      if (owner === undefined) return { user: await this.#signUp(caller, request), isNew: true };
      const user = await this.#logIn(caller.appId, owner);
      if (user === undefined) return undefined;
      this.counts.countLogin(caller.appId);
      return { user, isNew: false };
    } catch (error) {
      if (await this.#isOutdated(caller.appId, request, owner, error)) return undefined;
      throw error;
    }
  }

  /** Whether a concurrent request has linked the account since the lookup. Its user can also have the name, address or number of this one. */
  async #isOutdated(
    appId: string,
    { identities }: EntryRequest,
    owner: Ownership<UserRow> | undefined,
    error: unknown,
  ): Promise<boolean> {
    if (!(error instanceof AppError)) return false;
    if (error.is('IDENTITY_TAKEN')) return true;
    if (owner !== undefined || !TAKEN.some((name) => error.is(name))) return false;
    return findOwner(identities, await this.users.findByIdentities(appId, keysOf(identities))) !== undefined;
  }

  async #signUp(caller: Caller, { fields, identities, failOnNotExist }: EntryRequest): Promise<VisibleUser> {
    if (failOnNotExist) throw appError('USER_NOT_FOUND');
    const changes = { username: newUsername(), ...parseEntryFields(fields, caller.isMaster) };
    const prepared = await this.signUps.prepareUser(caller, changes, { identities: linkIdentities(null, identities) });
    return prepared.runAlone();
  }

  /** @returns undefined where the user is gone or has a new token. @throws AppError IDENTITY_TAKEN where one was unlinked since */
  async #logIn(appId: string, owner: Ownership<UserRow>): Promise<VisibleUser | undefined> {
    const { user: found } = owner;
    await this.lockouts.assertNotLocked({ appId, userId: found.objectId });
    assertMayLogIn(found, await this.applications.settingsOf(appId));
    const isNothingNew = isLinkedAlready(found.identities, owner.identities);
    const user = isNothingNew ? await this.#recordLogin(appId, found) : await this.#refresh(appId, owner);
    if (user === undefined) return undefined;
    return presentUser(user, { viewer: 'owner', sessionToken: this.sessions.reveal(user) });
  }

  /** The usual login: every entry is stored as it was sent, so only `updatedAt` changes. */
  async #recordLogin(appId: string, found: UserRow): Promise<UserRow | undefined> {
    const now = this.clock.now();
    if (!isLoginRecordDue(found, now)) return found;
    const updatedAt = await this.users.recordLogin(appId, found, now);
    return updatedAt === undefined ? undefined : { ...found, updatedAt };
  }

  async #refresh(appId: string, { user: found, identities }: Ownership<UserRow>): Promise<UserRow | undefined> {
    return this.transactions.run((tx) =>
      this.transactions.changeByLogin(tx, { appId }, found.objectId, (current) => {
        assertStillTheirs(identities, found, current);
        return {
          ...current,
          identities: linkIdentities(current.identities, identities),
          // The first proof ends sessions that were opened with the unproven identity.
          ...(isFirstProof(current.identities, identities) ? this.sessions.create(current.objectId).columns : {}),
        };
      }),
    );
  }
}

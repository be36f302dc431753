import { Controller, Logger } from '@nestjs/common';
import {
  accountsRpc,
  type Caller,
  type JsonObject,
  lockoutsRpc,
  type RpcData,
  type RpcReply,
  type VisibleUser,
} from '#contracts';
import { appError, messageOf } from '#errors';
import { RpcHandler } from '#messaging';
import { isAbsent, isStorableText } from '#objects';
import { PasswordHasher } from '#security/passwords';
import { ApplicationsService } from '../applications/applications.service.js';
import { LockoutService } from '../lockout/lockout.service.js';
import { attemptOf, type Credentials, parseCredentials, PasswordsService } from '../passwords/passwords.service.js';
import { PhoneLoginService } from '../phone-numbers/phone-login.service.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { DailyCounts } from '../users/daily-counts.js';
import { UserTransactions } from '../users/user-transactions.js';
import { assertMayLogIn, presentUser, type UserRow } from '../users/user.rules.js';
import { UsersRepository } from '../users/users.repository.js';

type Rpc = typeof accountsRpc & typeof lockoutsRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

@Controller()
export class LoginController {
  readonly #logger = new Logger('Login');

  constructor(
    private readonly users: UsersRepository,
    private readonly transactions: UserTransactions,
    private readonly applications: ApplicationsService,
    private readonly hasher: PasswordHasher,
    private readonly passwords: PasswordsService,
    private readonly sessions: SessionTokens,
    private readonly byCode: PhoneLoginService,
    private readonly counts: DailyCounts,
  ) {}

  @RpcHandler(accountsRpc.logIn)
  async logIn({ caller, credentials }: Data<'logIn'>): Reply<'logIn'> {
    const byCode = isLoginByCode(credentials);
    const user = await (byCode ? this.byCode.logIn(caller, credentials) : this.#logInByPassword(caller, credentials));
    this.counts.countLogin(caller.appId);
    return { user };
  }

  async #logInByPassword({ appId }: Caller, body: JsonObject): Promise<VisibleUser> {
    const credentials = parseCredentials(body);
    const user = await this.#find(appId, credentials);
    const { replacementHash } = await this.passwords.verify(appId, user, attemptOf(credentials));
    const current = await this.#readAgain(appId, user, credentials);
    assertMayLogIn(current, await this.applications.settingsOf(appId));
    await this.#rehashIfOutdated(appId, current, { password: credentials.password, replacementHash }).catch(
      (error: unknown) => {
        // The next login retries it; this one has succeeded.
        this.#logger.debug(`the password was not rehashed: ${messageOf(error)}`);
      },
    );
    return presentUser(current, { viewer: 'owner', sessionToken: this.sessions.reveal(current) });
  }

  async #find(appId: string, credentials: Credentials): Promise<UserRow> {
    const { identifier, value } = credentials;
    const user = isStorableText(value) ? await this.users.findByIdentifier(appId, identifier, value) : undefined;
    return user ?? this.#refuseUnknown(appId, credentials);
  }

  /** An unknown user costs as much time as a wrong password and, with `quietProfile`, is counted and locked in the same way. */
  async #refuseUnknown(appId: string, { identifier, value, password }: Credentials): Promise<never> {
    const { quietProfile } = await this.applications.settingsOf(appId);
    if (quietProfile) return this.passwords.refuseUnknown(appId, [identifier, value], password);
    await this.hasher.verifyNothing(password);
    throw appError('USER_NOT_FOUND');
  }

  /** The current user: token or password may have been replaced while the password was hashed. */
  async #readAgain(appId: string, verified: UserRow, credentials: Credentials): Promise<UserRow> {
    const current = await this.users.find(appId, verified.objectId);
    if (current === undefined) throw appError('USER_NOT_FOUND');
    if (current.passwordVersion !== verified.passwordVersion)
      await this.passwords.verify(appId, current, attemptOf(credentials));
    return current;
  }

  async #rehashIfOutdated(
    appId: string,
    user: UserRow,
    { password, replacementHash }: { readonly password: string; readonly replacementHash: string | undefined },
  ): Promise<void> {
    if (user.passwordHash === null || !this.hasher.isOutdated(user.passwordHash)) return;
    await this.transactions.rehash(appId, user, replacementHash ?? (await this.hasher.hash(password)));
  }
}

/** Whether the login is by code instead of password. SDKs send whole user objects: with both, the password counts. */
function isLoginByCode({ password, smsCode }: JsonObject): boolean {
  return isAbsent(password) && !isAbsent(smsCode);
}

@Controller()
export class LockoutsController {
  constructor(
    private readonly users: UsersRepository,
    private readonly applications: ApplicationsService,
    private readonly lockouts: LockoutService,
  ) {}

  @RpcHandler(lockoutsRpc.list)
  async list({ appId, limit, after }: Data<'list'>): Reply<'list'> {
    await this.applications.assertKnown(appId);
    const cursor = after && { userId: after.userId, lockedUntil: new Date(after.lockedUntil) };
    const locked = await this.lockouts.list(appId, { limit, after: cursor });
    const usernames = await this.users.usernames(
      appId,
      locked.map(({ userId }) => userId),
    );
    const lockedUsers = locked.map(({ userId, lockedUntil }) => ({
      userId,
      username: usernames.get(userId) ?? null,
      lockedUntil: lockedUntil.toISOString(),
    }));
    return { lockedUsers };
  }

  @RpcHandler(lockoutsRpc.get)
  async get({ appId, user: name }: Data<'get'>): Reply<'get'> {
    await this.applications.assertKnown(appId);
    const user = (await this.users.find(appId, name)) ?? (await this.users.findByIdentifier(appId, 'username', name));
    if (user === undefined) throw appError('USER_NOT_FOUND', { message: `There is no user "${name}" in ${appId}.` });
    const { objectId: userId, username } = user;
    return { userId, username, ...(await this.lockouts.describe({ appId, userId })) };
  }
}

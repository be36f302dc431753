import { Injectable, Logger } from '@nestjs/common';
import type { Caller, JsonObject, LockedUser, lockoutsRpc, RpcData, RpcReply, VisibleUser } from '#contracts';
import { appError, type ErrorName, messageOf } from '#errors';
import { isAbsent, isStorableText } from '#objects';
import { ApplicationsService } from '../applications/applications.service.js';
import { LockoutService } from '../lockout/lockout.service.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { PasswordsService } from '../passwords/passwords.service.js';
import { PhoneLoginService } from '../phone-numbers/phone-login.service.js';
import { SessionTokens } from '../sessions/sessions.service.js';
import { type LoginIdentifier, parsePhoneNumber } from '../users/user-changes.rules.js';
import { UserWriter } from '../users/user-writer.js';
import { presentUser } from '../users/user.presenter.js';
import { assertMayLogIn, type UserRow } from '../users/user.rules.js';
import { UsersRepository } from '../users/users.repository.js';

type Lockouts = typeof lockoutsRpc;

interface Credentials {
  readonly identifier: LoginIdentifier;
  readonly value: string;
  readonly password: string;
}

/** SDKs send whole user objects: username wins over email over mobilePhoneNumber (decisions, identifier at login). */
const IDENTIFIERS: readonly LoginIdentifier[] = ['username', 'email', 'mobilePhoneNumber'];

const INVALID_IDENTIFIERS: Readonly<Record<LoginIdentifier, ErrorName>> = {
  username: 'INVALID_USERNAME',
  email: 'INVALID_EMAIL',
  mobilePhoneNumber: 'INVALID_PHONE',
};

/** Logs users in, and reports to operators which users are locked out. */
@Injectable()
export class LoginService {
  private readonly logger = new Logger('Login');

  constructor(
    private readonly users: UsersRepository,
    private readonly writer: UserWriter,
    private readonly applications: ApplicationsService,
    private readonly hasher: PasswordHasher,
    private readonly passwords: PasswordsService,
    private readonly sessions: SessionTokens,
    private readonly byCode: PhoneLoginService,
    private readonly lockouts: LockoutService,
  ) {}

  /** POST /1.1/login, by a password or by a code. */
  logIn(caller: Caller, body: JsonObject): Promise<VisibleUser> {
    return isLoginByCode(body) ? this.byCode.logIn(caller, body) : this.logInByPassword(caller, body);
  }

  /** @throws AppError NOT_FOUND where there is no such application */
  async listLockouts({ appId, limit, after }: RpcData<Lockouts['list']>): Promise<LockedUser[]> {
    await this.applications.get(appId);
    const cursor = after && { userId: after.userId, lockedUntil: new Date(after.lockedUntil) };
    const locked = await this.lockouts.list(appId, { limit, after: cursor });
    const usernames = await this.users.usernames(
      appId,
      locked.map(({ userId }) => userId),
    );
    return locked.map(({ userId, lockedUntil }) => ({
      userId,
      username: usernames.get(userId) ?? null,
      lockedUntil: lockedUntil.toISOString(),
    }));
  }

  /** @throws AppError NOT_FOUND where there is no such application, USER_NOT_FOUND where there is no such user */
  async getLockout({ appId, user: name }: RpcData<Lockouts['get']>): Promise<RpcReply<Lockouts['get']>> {
    await this.applications.get(appId);
    const user = (await this.users.find(appId, name)) ?? (await this.users.findByIdentifier(appId, 'username', name));
    if (user === undefined) throw appError('USER_NOT_FOUND', { message: `There is no user "${name}" in ${appId}.` });
    const { objectId: userId, username } = user;
    const { lockedUntil, failures } = await this.lockouts.find({ appId, userId });
    return { userId, username, lockedUntil: lockedUntil?.toISOString() ?? null, failures };
  }

  /** @throws AppError USER_NOT_FOUND, PASSWORD_MISMATCH, LOCKED_OUT, EMAIL_UNVERIFIED, PHONE_UNVERIFIED */
  private async logInByPassword({ appId }: Caller, body: JsonObject): Promise<VisibleUser> {
    const credentials = parseCredentials(body);
    const user = await this.find(appId, credentials);
    await this.passwords.assertRight(appId, user, credentials.password);
    const current = await this.readAgain(appId, user, credentials.password);
    assertMayLogIn(current, await this.applications.settingsOf(appId));
    await this.rehashIfOutdated(appId, current, credentials.password).catch((error: unknown) => {
      // The next login retries it; this one has succeeded.
      this.logger.debug(`the password was not rehashed: ${messageOf(error)}`);
    });
    return presentUser(current, { viewer: 'owner', sessionToken: this.sessions.reveal(current) });
  }

  private async find(appId: string, credentials: Credentials): Promise<UserRow> {
    const { identifier, value } = credentials;
    const user = isStorableText(value) ? await this.users.findByIdentifier(appId, identifier, value) : undefined;
    return user ?? this.refuseUnknown(appId, credentials);
  }

  /** An unknown user costs as much time as a wrong password and, with `quietProfile`, is counted and locked in the same way. */
  private async refuseUnknown(appId: string, { identifier, value, password }: Credentials): Promise<never> {
    const { quietProfile } = await this.applications.settingsOf(appId);
    if (quietProfile) return this.passwords.refuseUnknown(appId, [identifier, value], password);
    await this.hasher.verifyNothing(password);
    throw appError('USER_NOT_FOUND');
  }

  /** The current user: token or password may have been replaced while the password was hashed. */
  private async readAgain(appId: string, verified: UserRow, password: string): Promise<UserRow> {
    const current = await this.users.find(appId, verified.objectId);
    if (current === undefined) throw appError('USER_NOT_FOUND');
    if (current.passwordHash !== verified.passwordHash) await this.passwords.assertRight(appId, current, password);
    return current;
  }

  private async rehashIfOutdated(appId: string, user: UserRow, password: string): Promise<void> {
    if (user.passwordHash === null || !this.hasher.isOutdated(user.passwordHash)) return;
    await this.writer.rehash(appId, user, await this.hasher.hash(password));
  }
}

/** Parses the body of a login. @throws AppError with the code of the missing or mistyped member */
export function parseCredentials(body: JsonObject): Credentials {
  const identifier = IDENTIFIERS.find((name) => !isAbsent(body[name]));
  if (identifier === undefined) throw appError('USERNAME_MISSING');
  const value = parseIdentifier(identifier, body[identifier]);
  const password = body['password'];
  if (isAbsent(password)) throw appError('PASSWORD_MISSING');
  if (typeof password !== 'string') throw appError('INVALID_PASSWORD');
  return { identifier, value, password };
}

/** Whether the login is by code instead of password. SDKs send whole user objects: with both, the password counts. */
function isLoginByCode({ password, smsCode }: JsonObject): boolean {
  return isAbsent(password) && !isAbsent(smsCode);
}

function parseIdentifier(identifier: LoginIdentifier, value: JsonObject[string] | undefined): string {
  if (typeof value !== 'string') throw appError(INVALID_IDENTIFIERS[identifier]);
  return identifier === 'mobilePhoneNumber' ? parsePhoneNumber(value) : value;
}

import { Injectable, Logger } from '@nestjs/common';
import type { Caller, JsonObject, VisibleUser } from '#contracts';
import { appError } from '#errors';
import { isStorableText } from '#object-values';
import { ApplicationsService } from '../applications/applications.service.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { presentUser } from '../users/user.presenter.js';
import type { UserRow } from '../users/user.row.js';
import { UserWriter } from '../users/user-writer.js';
import { UsersRepository } from '../users/users.repository.js';
import { assertMayLogIn, type Credentials, parseCredentials } from './login.rules.js';

/** POST /1.1/login. */
@Injectable()
export class LoginService {
  private readonly logger = new Logger('Login');

  constructor(
    private readonly users: UsersRepository,
    private readonly writer: UserWriter,
    private readonly applications: ApplicationsService,
    private readonly passwords: PasswordHasher,
    private readonly sessions: SessionTokens,
  ) {}

  /** @throws AppError USER_NOT_FOUND, PASSWORD_MISMATCH, EMAIL_UNVERIFIED, PHONE_UNVERIFIED */
  async logIn({ appId }: Caller, body: JsonObject): Promise<VisibleUser> {
    const credentials = parseCredentials(body);
    const user = await this.find(appId, credentials);
    await this.judge(credentials.password, user);
    const current = await this.readAgain(appId, user, credentials.password);
    assertMayLogIn(current, await this.applications.settingsOf(appId));
    await this.rehashIfOutdated(appId, current, credentials.password).catch((error: unknown) => {
      // It is done at another login: this one was right.
      this.logger.debug(`not hashed anew: ${error instanceof Error ? error.message : String(error)}`);
    });
    return presentUser(current, { viewer: 'owner', sessionToken: this.sessions.reveal(current) });
  }

  /** An unknown user costs as much time as a wrong password. */
  private async find(appId: string, { identifier, value, password }: Credentials): Promise<UserRow> {
    const user = isStorableText(value) ? await this.users.findByIdentifier(appId, identifier, value) : undefined;
    if (user !== undefined) return user;
    await this.passwords.verifyNothing(password);
    throw appError('USER_NOT_FOUND');
  }

  private async judge(password: string, { passwordHash }: UserRow): Promise<void> {
    const isRight =
      passwordHash === null
        ? await this.passwords.verifyNothing(password)
        : await this.passwords.verify(password, passwordHash);
    if (!isRight) throw appError('PASSWORD_MISMATCH');
  }

  /** The user as it is now: hashing takes long enough for a token or a password to be replaced meanwhile. */
  private async readAgain(appId: string, judged: UserRow, password: string): Promise<UserRow> {
    const current = await this.users.find(appId, judged.objectId);
    if (current === undefined) throw appError('USER_NOT_FOUND');
    if (current.passwordHash !== judged.passwordHash) await this.judge(password, current);
    return current;
  }

  private async rehashIfOutdated(appId: string, user: UserRow, password: string): Promise<void> {
    if (user.passwordHash === null || !this.passwords.isOutdated(user.passwordHash)) return;
    await this.writer.rehash(appId, user, await this.passwords.hash(password));
  }
}

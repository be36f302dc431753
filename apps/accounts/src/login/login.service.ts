import { Injectable, Logger } from '@nestjs/common';
import type { Caller, JsonObject, VisibleUser } from '#contracts';
import { appError, messageOf } from '#errors';
import { isStorableText } from '#objects';
import { ApplicationsService } from '../applications/applications.service.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { PasswordJudge } from '../passwords/password-judge.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { UserWriter } from '../users/user-writer.js';
import { presentUser } from '../users/user.presenter.js';
import type { UserRow } from '../users/user.row.js';
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
    private readonly judge: PasswordJudge,
    private readonly sessions: SessionTokens,
  ) {}

  /** @throws AppError USER_NOT_FOUND, PASSWORD_MISMATCH, LOCKED_OUT, EMAIL_UNVERIFIED, PHONE_UNVERIFIED */
  async logIn({ appId }: Caller, body: JsonObject): Promise<VisibleUser> {
    const credentials = parseCredentials(body);
    const user = await this.find(appId, credentials);
    await this.judge.assertRight(appId, user, credentials.password);
    const current = await this.readAgain(appId, user, credentials.password);
    assertMayLogIn(current, await this.applications.settingsOf(appId));
    await this.rehashIfOutdated(appId, current, credentials.password).catch((error: unknown) => {
      // It is done at another login: this one was right.
      this.logger.debug(`not hashed anew: ${messageOf(error)}`);
    });
    return presentUser(current, { viewer: 'owner', sessionToken: this.sessions.reveal(current) });
  }

  private async find(appId: string, credentials: Credentials): Promise<UserRow> {
    const { identifier, value } = credentials;
    const user = isStorableText(value) ? await this.users.findByIdentifier(appId, identifier, value) : undefined;
    return user ?? this.refuseUnknown(appId, credentials);
  }

  /** An unknown user costs as much time as a wrong password and, where answers are quiet, is counted and locked alike. */
  private async refuseUnknown(appId: string, { identifier, value, password }: Credentials): Promise<never> {
    const { quietProfile } = await this.applications.settingsOf(appId);
    if (quietProfile) return this.judge.assertNobodys(appId, [identifier, value], password);
    await this.passwords.verifyNothing(password);
    throw appError('USER_NOT_FOUND');
  }

  /** The user as it is now: hashing takes long enough for a token or a password to be replaced meanwhile. */
  private async readAgain(appId: string, judged: UserRow, password: string): Promise<UserRow> {
    const current = await this.users.find(appId, judged.objectId);
    if (current === undefined) throw appError('USER_NOT_FOUND');
    if (current.passwordHash !== judged.passwordHash) await this.judge.assertRight(appId, current, password);
    return current;
  }

  private async rehashIfOutdated(appId: string, user: UserRow, password: string): Promise<void> {
    if (user.passwordHash === null || !this.passwords.isOutdated(user.passwordHash)) return;
    await this.writer.rehash(appId, user, await this.passwords.hash(password));
  }
}

import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject, VisibleUser } from '#contracts';
import { appError } from '#errors';
import { ApplicationsService } from '../applications/applications.service.js';
import { Clock } from '../clock.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { newObjectId } from '../random-ids.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { parseUserChanges } from './user-changes.rules.js';
import { presentUser } from './user.presenter.js';
import { nextEmail, nextPhone } from './user.rules.js';
import { UserWriter } from './user-writer.js';

const NO_EMAIL = { email: null, emailVerified: null };
const NO_PHONE = { mobilePhoneNumber: null, mobilePhoneVerified: false };

/** POST /1.1/users with username and password. */
@Injectable()
export class SignUpService {
  constructor(
    private readonly writer: UserWriter,
    private readonly applications: ApplicationsService,
    private readonly passwords: PasswordHasher,
    private readonly sessions: SessionTokens,
    private readonly clock: Clock,
  ) {}

  /** @returns the new user as its owner sees it, with its session token */
  async signUp({ appId, isMaster }: Caller, fields: JsonObject): Promise<VisibleUser> {
    const { username, password } = requireCredentials(fields);
    const changes = parseUserChanges({ ...fields, username, password }, isMaster);
    const settings = await this.applications.settingsOf(appId);
    const passwordHash = await this.passwords.hash(password);
    const now = this.clock.now();
    const objectId = newObjectId(now);
    const session = this.sessions.create(objectId);
    const user = {
      objectId,
      username,
      ...nextEmail(NO_EMAIL, changes, settings),
      ...nextPhone(NO_PHONE, changes),
      passwordHash,
      ...session.columns,
      acl: changes.acl ?? null,
      fields: changes.set,
      createdAt: now,
      updatedAt: now,
    };
    await this.writer.create(appId, user);
    return presentUser(user, { viewer: 'owner', sessionToken: session.token });
  }
}

function requireCredentials({ username, password }: JsonObject): { username: string; password: string } {
  if (username === undefined || username === null || username === '') throw appError('USERNAME_MISSING');
  if (typeof username !== 'string') throw appError('INVALID_USERNAME');
  if (password === undefined || password === null || password === '') throw appError('PASSWORD_MISSING');
  if (typeof password !== 'string') throw appError('INVALID_PASSWORD');
  return { username, password };
}

import { Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { Caller, JsonObject, VisibleUser } from '#contracts';
import { appError } from '#errors';
import { isAbsent, newObjectId, type UserChanges, userClass } from '#objects';
import { ObjectAccess } from '#objects/store';
import { PasswordHasher } from '#security/passwords';
import { ApplicationsService } from '../applications/applications.service.js';
import { type NewSessionToken, SessionTokens } from '../sessions/session-tokens.js';
import { type SingleWrite, UserTransactions } from './user-transactions.js';
import { applyChanges, type LinkedIdentities, presentUser, type UserRow } from './user.rules.js';

export type NewUserChanges = UserChanges & { readonly username: string };

interface SignUpOptions {
  readonly objectId?: string;
  readonly identities?: LinkedIdentities;
}

/** Errors of a sign-up whose account another request creates, or links, at the same time. */
export const TAKEN = ['USERNAME_TAKEN', 'EMAIL_TAKEN', 'PHONE_TAKEN'] as const;

@Injectable()
export class SignUpService {
  constructor(
    private readonly objectAccess: ObjectAccess,
    private readonly transactions: UserTransactions,
    private readonly applications: ApplicationsService,
    private readonly passwords: PasswordHasher,
    private readonly sessions: SessionTokens,
    private readonly clock: Clock,
  ) {}

  async signUp(caller: Caller, fields: JsonObject): Promise<VisibleUser> {
    return (await this.prepare(caller, fields)).runAlone();
  }

  async prepare(caller: Caller, fields: JsonObject, options: SignUpOptions = {}): Promise<SingleWrite<VisibleUser>> {
    const { username, password } = requireCredentials(fields);
    const changes = { ...userClass.parse({ ...fields, username, password }, caller.isMaster), username };
    return this.prepareUser(caller, changes, options);
  }

  async prepareUser(
    caller: Caller,
    changes: NewUserChanges,
    options: SignUpOptions = {},
  ): Promise<SingleWrite<VisibleUser>> {
    await this.objectAccess.assertMay(caller, 'create', '_User');
    const settings = await this.applications.settingsOf(caller.appId);
    const { password } = changes;
    const passwordHash = password === undefined ? null : await this.passwords.hash(password);
    const now = this.clock.now();
    const objectId = options.objectId ?? newObjectId(now);
    const session = this.sessions.create(objectId);
    const blank = blankUser({ objectId, username: changes.username, now }, session.columns);
    const user = applyChanges({ ...blank, passwordHash, identities: options.identities ?? null }, changes, settings);
    const present = (created: UserRow) => presentUser(created, { viewer: 'owner', sessionToken: session.token });
    return {
      objectId: user.objectId,
      uniqueValues: userClass.uniqueValuesOf(changes),
      run: async (tx) => present(await this.transactions.create(tx, caller, user)),
      runAlone: async () => present(await this.transactions.createAlone(caller, user)),
    };
  }
}

/** A user with these values only: no contact data, no password, no linked accounts. */
export function blankUser(
  { objectId, username, now }: { readonly objectId: string; readonly username: string; readonly now: Date },
  session: NewSessionToken['columns'],
): UserRow {
  return {
    objectId,
    username,
    email: null,
    emailVerified: null,
    emailVersion: 0,
    mobilePhoneNumber: null,
    mobilePhoneVerified: false,
    passwordHash: null,
    passwordVersion: 0,
    ...session,
    identities: null,
    acl: null,
    fields: {},
    createdAt: now,
    updatedAt: now,
    lastChangeAt: null,
    importedPasswordHash: null,
    importedTokenHash: null,
    hasEarlierPassword: false,
    hasEarlierToken: false,
  };
}

function requireCredentials({ username, password }: JsonObject): { username: string; password: string } {
  if (isAbsent(username)) throw appError('USERNAME_MISSING');
  if (typeof username !== 'string') throw appError('INVALID_USERNAME');
  if (isAbsent(password)) throw appError('PASSWORD_MISSING');
  if (typeof password !== 'string') throw appError('INVALID_PASSWORD');
  return { username, password };
}

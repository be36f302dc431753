import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject, VisibleUser } from '#contracts';
import { appError } from '#errors';
import { isAbsent } from '#objects';
import { ApplicationsService } from '../applications/applications.service.js';
import { ClassAccess } from '../class-permissions/class-access.js';
import type { LinkedIdentities } from '../identities/linked-identities.types.js';
import type { SingleWrite } from '../objects/prepared-write.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { parseUserChanges } from './user-changes.rules.js';
import { UserWriter } from './user-writer.js';
import { type UserDraft, UserFactory } from './user.factory.js';
import { presentUser } from './user.presenter.js';
import type { UserRow } from './user.row.js';

/** What else is known of a user that signs up. */
interface SignUpOptions {
  /** The id that the user shall get; made up unless given. */
  readonly objectId?: string;
  readonly identities?: LinkedIdentities;
}

/** POST /1.1/users with username and password. */
@Injectable()
export class SignUpService {
  constructor(
    private readonly classes: ClassAccess,
    private readonly writer: UserWriter,
    private readonly applications: ApplicationsService,
    private readonly passwords: PasswordHasher,
    private readonly factory: UserFactory,
  ) {}

  /** @returns the new user as its owner sees it, with its session token */
  async signUp(caller: Caller, fields: JsonObject): Promise<VisibleUser> {
    return (await this.prepare(caller, fields)).runAlone();
  }

  async prepare(caller: Caller, fields: JsonObject, options: SignUpOptions = {}): Promise<SingleWrite<VisibleUser>> {
    const { username, password } = requireCredentials(fields);
    const changes = { ...parseUserChanges({ ...fields, username, password }, caller.isMaster), username };
    return this.prepareUser(caller, changes, options);
  }

  /** @param changes what the user shall have; without a password it gets none */
  async prepareUser(
    caller: Caller,
    changes: UserDraft['changes'],
    options: SignUpOptions = {},
  ): Promise<SingleWrite<VisibleUser>> {
    await this.classes.assertMay(caller, 'create', '_User');
    const settings = await this.applications.settingsOf(caller.appId);
    const { password } = changes;
    const passwordHash = password === undefined ? null : await this.passwords.hash(password);
    const { user, sessionToken } = this.factory.create({ changes, passwordHash, settings, ...options });
    const present = (created: UserRow) => presentUser(created, { viewer: 'owner', sessionToken });
    return {
      objectId: user.objectId,
      run: async (tx) => present(await this.writer.create(tx, caller, user)),
      runAlone: async () => present(await this.writer.createAlone(caller, user)),
    };
  }
}

function requireCredentials({ username, password }: JsonObject): { username: string; password: string } {
  if (isAbsent(username)) throw appError('USERNAME_MISSING');
  if (typeof username !== 'string') throw appError('INVALID_USERNAME');
  if (isAbsent(password)) throw appError('PASSWORD_MISSING');
  if (typeof password !== 'string') throw appError('INVALID_PASSWORD');
  return { username, password };
}

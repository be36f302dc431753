import { Injectable } from '@nestjs/common';
import type { ApplicationSettings, Caller, JsonObject } from '#contracts';
import { appError } from '#errors';
import { ApplicationsService } from '../applications/applications.service.js';
import { Clock } from '../clock.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { type NewSessionToken, SessionTokens } from '../sessions/session-tokens.js';
import { UserAccess } from './user-access.js';
import { parseUserChanges, type UserChanges } from './user-changes.rules.js';
import { presentUser } from './user.presenter.js';
import { applyChanges } from './user.rules.js';
import type { UserRow } from './user.row.js';
import { UserWriter } from './user-writer.js';

export interface UpdateOptions {
  /** Answer the changed fields with their new values (`new=true`, `fetchWhenSave=true`). */
  readonly returnNew: boolean;
}

/** PUT /1.1/users/<objectId>. */
@Injectable()
export class UpdateUserService {
  constructor(
    private readonly writer: UserWriter,
    private readonly access: UserAccess,
    private readonly applications: ApplicationsService,
    private readonly passwords: PasswordHasher,
    private readonly sessions: SessionTokens,
    private readonly clock: Clock,
  ) {}

  /** @returns the body of the answer (decisions, body of PUT) */
  async update(caller: Caller, objectId: string, fields: JsonObject, options: UpdateOptions): Promise<JsonObject> {
    const changes = parseUserChanges(fields, caller.isMaster);
    const settings = await this.applications.settingsOf(caller.appId);
    const password = await this.preparePassword(caller, objectId, changes, settings);
    const user = await this.writer.change(caller.appId, objectId, (current) => {
      this.access.assertMayWrite(caller, current);
      return { ...applyChanges(current, changes, settings, this.clock.now()), ...password?.columns };
    });
    if (user === undefined) throw this.access.missing(caller);
    return {
      updatedAt: user.updatedAt.toISOString(),
      ...(options.returnNew ? changedFields(user, Object.keys(fields)) : {}),
      ...(password?.session === undefined ? {} : { sessionToken: password.session.token }),
    };
  }

  /** Hashes a new password before the transaction, and only for a caller who may write. */
  private async preparePassword(
    caller: Caller,
    objectId: string,
    { password }: UserChanges,
    settings: ApplicationSettings,
  ): Promise<PreparedPassword | undefined> {
    if (password === undefined) return undefined;
    await this.access.loadForWrite(caller, objectId);
    if (settings.requireOldPassword && !caller.isMaster) {
      throw appError('CLIENT_NOT_ALLOWED', {
        message: 'The setting requireOldPassword is on: change the password with updatePassword and the old one.',
      });
    }
    const session = settings.reloginAfterPasswordChange ? this.sessions.create(objectId) : undefined;
    const passwordHash = await this.passwords.hash(password);
    return { session, columns: { passwordHash, ...session?.columns } };
  }
}

interface PreparedPassword {
  readonly session: NewSessionToken | undefined;
  readonly columns: Partial<UserRow>;
}

/** What the request named, with the values it has now, and the id. */
function changedFields(user: UserRow, names: readonly string[]): JsonObject {
  const whole = presentUser(user, { viewer: 'owner' });
  const shown = new Set(['objectId', 'updatedAt', ...names]);
  return Object.fromEntries(Object.entries(whole).filter(([name]) => shown.has(name)));
}

import { Injectable } from '@nestjs/common';
import type { ApplicationSettings, Caller, JsonObject, ObjectWriteOptions } from '#contracts';
import { appError } from '#errors';
import { changedRoots } from '#object-ops';
import { ApplicationsService } from '../applications/applications.service.js';
import { ClassAccess } from '../class-permissions/class-access.js';
import { changedFields } from '../objects/object.rules.js';
import type { PreparedWrite } from '../objects/prepared-write.js';
import { UpdateConditions } from '../objects/update-conditions.js';
import { type NewPassword, NewPasswords } from '../passwords/new-passwords.js';
import { UserAccess } from './user-access.js';
import { parseUserChanges, type UserChanges } from './user-changes.rules.js';
import { presentUser } from './user.presenter.js';
import { applyChanges } from './user.rules.js';
import { UserWriter } from './user-writer.js';

/** PUT /1.1/users/<objectId>. */
@Injectable()
export class UpdateUserService {
  constructor(
    private readonly classes: ClassAccess,
    private readonly writer: UserWriter,
    private readonly access: UserAccess,
    private readonly applications: ApplicationsService,
    private readonly newPasswords: NewPasswords,
    private readonly conditions: UpdateConditions,
  ) {}

  /** @returns the body of the answer (decisions, body of PUT) */
  async update(caller: Caller, objectId: string, fields: JsonObject, options: ObjectWriteOptions): Promise<JsonObject> {
    const prepared = await this.prepare(caller, objectId, fields, options);
    return this.writer.transaction((tx) => prepared.run(tx));
  }

  async prepare(
    caller: Caller,
    objectId: string,
    fields: JsonObject,
    options: ObjectWriteOptions,
  ): Promise<PreparedWrite<JsonObject>> {
    const changes = parseUserChanges(fields, caller.isMaster);
    await this.classes.assertMay(caller, 'update', '_User');
    const condition = await this.conditions.prepare(caller, '_User', options.where);
    const settings = await this.applications.settingsOf(caller.appId);
    const password = await this.preparePassword(caller, objectId, changes, settings);
    const run: PreparedWrite<JsonObject>['run'] = async (tx) => {
      const user = await this.writer.change(tx, caller.appId, objectId, async (current) => {
        await this.access.assertMayWrite(caller, current, tx);
        await condition.assertMet(tx, objectId);
        return { ...applyChanges(current, changes, settings), ...password?.columns };
      });
      if (user === undefined) throw this.access.missing(caller);
      return {
        updatedAt: user.updatedAt.toISOString(),
        ...(options.returnNew ? changedFields(presentUser(user, { viewer: 'owner' }), changedRoots(fields)) : {}),
        ...(password?.sessionToken === undefined ? {} : { sessionToken: password.sessionToken }),
      };
    };
    return { objectId, run };
  }

  /** Hashes a new password before the transaction, and only for a caller who may write. */
  private async preparePassword(
    caller: Caller,
    objectId: string,
    { password }: UserChanges,
    settings: ApplicationSettings,
  ): Promise<NewPassword | undefined> {
    if (password === undefined) return undefined;
    await this.access.loadForWrite(caller, objectId);
    if (settings.requireOldPassword && !caller.isMaster) {
      throw appError('CLIENT_NOT_ALLOWED', {
        message: 'The setting requireOldPassword is on: change the password with updatePassword and the old one.',
      });
    }
    return this.newPasswords.prepare(objectId, password, settings.reloginAfterPasswordChange);
  }
}

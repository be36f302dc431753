import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject } from '#contracts';
import { appError } from '#errors';
import { ApplicationsService } from '../applications/applications.service.js';
import { NewPasswords } from '../passwords/new-passwords.js';
import { PasswordJudge } from '../passwords/password-judge.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { UserAccess } from './user-access.js';
import { parsePassword } from './user-changes.rules.js';
import { UserWriter } from './user-writer.js';

/** PUT /1.1/users/<objectId>/updatePassword. */
@Injectable()
export class UpdatePasswordService {
  constructor(
    private readonly writer: UserWriter,
    private readonly access: UserAccess,
    private readonly applications: ApplicationsService,
    private readonly judge: PasswordJudge,
    private readonly newPasswords: NewPasswords,
    private readonly sessions: SessionTokens,
  ) {}

  /**
   * @throws AppError PASSWORD_MISMATCH where the old password is wrong (the master key has to know it too); LOCKED_OUT where
   * that or a login was wrong too often
   */
  async updatePassword(caller: Caller, objectId: string, passwords: JsonObject): Promise<JsonObject> {
    const oldPassword = parsePassword(passwords['old_password']);
    const newPassword = parsePassword(passwords['new_password']);
    const judged = await this.access.loadForWrite(caller, objectId);
    await this.judge.assertRight(caller.appId, judged, oldPassword);

    const { reloginAfterPasswordChange } = await this.applications.settingsOf(caller.appId);
    const prepared = await this.newPasswords.prepare(objectId, newPassword, reloginAfterPasswordChange);
    const user = await this.writer.transaction((tx) =>
      this.writer.change(tx, caller, objectId, async (current) => {
        await this.access.assertMayWrite(caller, current, tx);
        // The old password was judged before the lock: another change in between makes that judgement void.
        if (current.passwordHash !== judged.passwordHash) throw appError('PASSWORD_MISMATCH');
        return { ...current, ...prepared.columns };
      }),
    );
    if (user === undefined) throw this.access.missing(caller);
    return {
      updatedAt: user.updatedAt.toISOString(),
      objectId,
      sessionToken: prepared.sessionToken ?? this.sessions.reveal(user),
    };
  }
}

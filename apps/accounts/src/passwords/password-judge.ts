import { Injectable } from '@nestjs/common';
import { appError } from '#errors';
import { Sealer } from '#sealing';
import { LockoutService } from '../lockout/lockout.service.js';
import { nobodysId } from '../lockout/nobody.rules.js';
import type { UserRow } from '../users/user.row.js';
import { PasswordHasher } from './password-hasher.js';

/** Judges passwords under the lockout. Every way in that takes one asks here. */
@Injectable()
export class PasswordJudge {
  constructor(
    private readonly lockouts: LockoutService,
    private readonly passwords: PasswordHasher,
    private readonly sealer: Sealer,
  ) {}

  /** @throws AppError PASSWORD_MISMATCH where it is wrong; LOCKED_OUT, SERVICE_UNAVAILABLE as `LockoutService.judge` */
  async assertRight(appId: string, { objectId, passwordHash }: UserRow, password: string): Promise<void> {
    const isRight = await this.lockouts.judge({ appId, userId: objectId }, () =>
      passwordHash === null ? this.passwords.verifyNothing(password) : this.passwords.verify(password, passwordHash),
    );
    if (!isRight) throw appError('PASSWORD_MISMATCH');
  }

  /**
   * Answers for a name that nobody has as `assertRight` does for a user with another password, and locks it likewise.
   * @param name the kind of identifier and its value
   */
  async assertNobodys(appId: string, name: string, password: string): Promise<never> {
    const userId = nobodysId(this.sealer.lookupHash(JSON.stringify(['login name', appId, name])));
    await this.lockouts.judge({ appId, userId }, () => this.passwords.verifyNothing(password));
    throw appError('PASSWORD_MISMATCH');
  }
}

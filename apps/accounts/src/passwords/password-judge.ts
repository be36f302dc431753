import { Injectable } from '@nestjs/common';
import { appError } from '#errors';
import { LockoutService } from '../lockout/lockout.service.js';
import { Nobodies } from '../lockout/nobodies.js';
import type { LoginIdentifier } from '../users/user-identifier.rules.js';
import type { UserRow } from '../users/user.row.js';
import { PasswordHasher } from './password-hasher.js';

/** Judges passwords under the lockout. Every way in that takes one asks here. */
@Injectable()
export class PasswordJudge {
  constructor(
    private readonly lockouts: LockoutService,
    private readonly passwords: PasswordHasher,
    private readonly nobodies: Nobodies,
  ) {}

  /** @throws AppError PASSWORD_MISMATCH where it is wrong; LOCKED_OUT, SERVICE_UNAVAILABLE as `LockoutService.judge` */
  async assertRight(appId: string, { objectId, passwordHash }: UserRow, password: string): Promise<void> {
    const isRight = await this.lockouts.judge({ appId, userId: objectId }, () =>
      passwordHash === null ? this.passwords.verifyNothing(password) : this.passwords.verify(password, passwordHash),
    );
    if (!isRight) throw appError('PASSWORD_MISMATCH');
  }

  /** Answers for a name that nobody has as `assertRight` does for a user with another password, and locks it likewise. */
  async assertNobodys(appId: string, [identifier, value]: [LoginIdentifier, string], password: string): Promise<never> {
    const subject = this.nobodies.subjectOf(appId, identifier, value);
    await this.lockouts.judge(subject, () => this.passwords.verifyNothing(password));
    throw appError('PASSWORD_MISMATCH');
  }
}

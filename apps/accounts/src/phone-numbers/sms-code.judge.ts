import { Injectable } from '@nestjs/common';
import { appError } from '#errors';
import { ApplicationsService } from '../applications/applications.service.js';
import { LockoutService } from '../lockout/lockout.service.js';
import { Nobodies } from '../lockout/nobodies.js';
import type { UserRow } from '../users/user.row.js';
import type { SmsCodeKey } from './sms-code.row.js';
import { SmsCodesService } from './sms-codes.service.js';

/** Judges codes that let users in, under their lockout. */
@Injectable()
export class SmsCodeJudge {
  constructor(
    private readonly codes: SmsCodesService,
    private readonly lockouts: LockoutService,
    private readonly nobodies: Nobodies,
    private readonly applications: ApplicationsService,
  ) {}

  /** @throws AppError INVALID_SMS_CODE where it is wrong; LOCKED_OUT, SERVICE_UNAVAILABLE as `LockoutService.judge` */
  async assertRight(key: SmsCodeKey, { objectId: userId }: Pick<UserRow, 'objectId'>, code: string): Promise<void> {
    const isRight = await this.lockouts.judge({ appId: key.appId, userId }, () => this.codes.guess(key, code));
    if (!isRight) throw appError('INVALID_SMS_CODE');
  }

  /**
   * The same for a number that nobody has. Where answers are quiet, wrong codes lock it as they would lock a user; a right
   * one passes all the same, since it can be shown only by who has the number.
   */
  async assertNobodys(key: SmsCodeKey, code: string): Promise<void> {
    if (await this.codes.guess(key, code)) return;
    const { quietProfile } = await this.applications.settingsOf(key.appId);
    const subject = this.nobodies.subjectOf(key.appId, 'mobilePhoneNumber', key.mobilePhoneNumber);
    if (quietProfile) await this.lockouts.judge(subject, () => Promise.resolve(false));
    throw appError('INVALID_SMS_CODE');
  }
}

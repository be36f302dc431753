import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject, VisibleUser } from '#contracts';
import { appError } from '#errors';
import { ApplicationsService } from '../applications/applications.service.js';
import { assertMayLogIn } from '../login/login.rules.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { presentUser } from '../users/user.presenter.js';
import type { UserRow } from '../users/user.row.js';
import { UsersRepository } from '../users/users.repository.js';
import { CodeRedeemer } from './code-redeemer.js';
import { parseSmsCode, requirePhoneNumber } from './phone-request.rules.js';
import { SmsCodeJudge } from './sms-code.judge.js';
import type { SmsCodeKey } from './sms-code.row.js';

/** Lets in users who show a code that was sent to their number. */
@Injectable()
export class PhoneLoginService {
  constructor(
    private readonly users: UsersRepository,
    private readonly judge: SmsCodeJudge,
    private readonly redeemer: CodeRedeemer,
    private readonly applications: ApplicationsService,
    private readonly sessions: SessionTokens,
  ) {}

  /** POST /1.1/login with a code of requestLoginSmsCode. @throws AppError PHONE_NOT_FOUND, and as `admit` */
  async logIn({ appId }: Caller, body: JsonObject): Promise<VisibleUser> {
    const mobilePhoneNumber = requirePhoneNumber(body);
    const code = parseSmsCode(body['smsCode']);
    const key = { appId, purpose: 'login', mobilePhoneNumber } as const;
    const user = await this.users.findByIdentifier(appId, 'mobilePhoneNumber', mobilePhoneNumber);
    return user === undefined ? this.refuseUnknown(key, code) : this.admit(key, user, code);
  }

  /** @throws AppError INVALID_SMS_CODE, LOCKED_OUT, PHONE_UNVERIFIED, EMAIL_UNVERIFIED; only a user who is let in uses the code up */
  async admit(key: SmsCodeKey, { objectId }: UserRow, code: string): Promise<VisibleUser> {
    const settings = await this.applications.settingsOf(key.appId);
    await this.judge.assertRight(key, { objectId }, code);
    const user = await this.redeemer.redeem(key, code, async (tx) => {
      const current = await this.users.lock(tx, key.appId, objectId);
      if (current?.mobilePhoneNumber !== key.mobilePhoneNumber) throw appError('INVALID_SMS_CODE');
      // Whoever put an unproven number on the account must not be joined there by its owner.
      if (!current.mobilePhoneVerified) throw appError('PHONE_UNVERIFIED');
      assertMayLogIn(current, settings);
      return current;
    });
    return presentUser(user, { viewer: 'owner', sessionToken: this.sessions.reveal(user) });
  }

  private async refuseUnknown(key: SmsCodeKey, code: string): Promise<never> {
    const { quietProfile } = await this.applications.settingsOf(key.appId);
    if (!quietProfile) throw appError('PHONE_NOT_FOUND');
    await this.judge.assertNobodys(key, code);
    throw appError('INVALID_SMS_CODE');
  }
}

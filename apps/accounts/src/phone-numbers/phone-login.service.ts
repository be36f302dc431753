import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject, VisibleUser } from '#contracts';
import { appError, AppError } from '#errors';
import { ApplicationsService } from '../applications/applications.service.js';
import { LockoutService } from '../lockout/lockout.service.js';
import { newUsername } from '../random-ids.js';
import { SessionTokens } from '../sessions/sessions.service.js';
import { SignUpService, type NewUserChanges } from '../users/sign-up.service.js';
import { presentUser } from '../users/user.presenter.js';
import { assertMayLogIn, type UserRow } from '../users/user.rules.js';
import { UsersRepository } from '../users/users.repository.js';
import { parsePhoneSignUp, parseSmsCode, requirePhoneNumber } from './phone-request.rules.js';
import type { SmsCodeKey } from './sms-codes.repository.js';
import { SmsCodesService } from './sms-codes.service.js';

/** A user who was let in by a number. */
interface Entry {
  readonly user: VisibleUser;
  readonly isNew: boolean;
}

/** Logins and sign-ups by codes that were sent to phone numbers. */
@Injectable()
export class PhoneLoginService {
  constructor(
    private readonly users: UsersRepository,
    private readonly signUps: SignUpService,
    private readonly codes: SmsCodesService,
    private readonly applications: ApplicationsService,
    private readonly lockouts: LockoutService,
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

  /** POST /1.1/usersByMobilePhone: logs in the user who has the number, or creates one. @throws AppError as `admit` or `SignUpService.signUp` */
  async signUpOrLogIn(caller: Caller, body: JsonObject): Promise<Entry> {
    const { appId } = caller;
    const mobilePhoneNumber = requirePhoneNumber(body);
    const code = parseSmsCode(body['smsCode']);
    const key = { appId, purpose: 'generic', mobilePhoneNumber } as const;
    const owner = await this.users.findByIdentifier(appId, 'mobilePhoneNumber', mobilePhoneNumber);
    if (owner !== undefined) return { user: await this.admit(key, owner, code), isNew: false };
    return { user: await this.signUp(caller, key, code, body), isNew: true };
  }

  /** @throws AppError INVALID_SMS_CODE, LOCKED_OUT, PHONE_UNVERIFIED, EMAIL_UNVERIFIED; only a user who is let in uses the code up */
  private async admit(key: SmsCodeKey, { objectId }: UserRow, code: string): Promise<VisibleUser> {
    const settings = await this.applications.settingsOf(key.appId);
    await this.assertRight(key, { objectId }, code);
    const user = await this.codes.redeem(key, code, async (tx) => {
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
    await this.assertRightForUnknown(key, code);
    throw appError('INVALID_SMS_CODE');
  }

  private async signUp(caller: Caller, key: SmsCodeKey, code: string, body: JsonObject): Promise<VisibleUser> {
    // First of all: with an existing user wrong fields are no mistake, so they must not tell that there is none.
    await this.assertRightForUnknown(key, code);
    const changes = parsePhoneSignUp(body, key.mobilePhoneNumber, caller.isMaster);
    const { username } = changes;
    if (username !== undefined) return this.create(caller, key, code, { ...changes, username });
    try {
      return await this.create(caller, key, code, { ...changes, username: key.mobilePhoneNumber });
    } catch (error) {
      // Somebody calls himself so, perhaps by the number he had before: its owner gets in all the same.
      if (!(error instanceof AppError && error.is('USERNAME_TAKEN'))) throw error;
      return this.create(caller, key, code, { ...changes, username: newUsername() });
    }
  }

  private async create(caller: Caller, key: SmsCodeKey, code: string, changes: NewUserChanges): Promise<VisibleUser> {
    const prepared = await this.signUps.prepareUser(caller, changes);
    return this.codes.redeem(key, code, (tx) => prepared.run(tx));
  }

  /** @throws AppError INVALID_SMS_CODE where it is wrong; LOCKED_OUT, SERVICE_UNAVAILABLE as `LockoutService.judge` */
  private async assertRight(
    key: SmsCodeKey,
    { objectId: userId }: Pick<UserRow, 'objectId'>,
    code: string,
  ): Promise<void> {
    const isRight = await this.lockouts.judge({ appId: key.appId, userId }, () => this.codes.guess(key, code));
    if (!isRight) throw appError('INVALID_SMS_CODE');
  }

  /**
   * The same for a number that nobody has. Where answers are quiet, wrong codes lock it as they would lock a user; a right
   * one passes all the same, since it can be shown only by who has the number.
   */
  private async assertRightForUnknown(key: SmsCodeKey, code: string): Promise<void> {
    if (await this.codes.guess(key, code)) return;
    const { quietProfile } = await this.applications.settingsOf(key.appId);
    const subject = this.lockouts.decoyAccount(key.appId, 'mobilePhoneNumber', key.mobilePhoneNumber);
    if (quietProfile) await this.lockouts.judge(subject, () => Promise.resolve(false));
    throw appError('INVALID_SMS_CODE');
  }
}

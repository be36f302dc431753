import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject, phoneNumbersRpc, RpcReply, VisibleUser } from '#contracts';
import { appError, isAppError } from '#errors';
import { ApplicationsService } from '../applications/applications.service.js';
import { LockoutService } from '../lockout/lockout.service.js';
import { newUsername, SessionTokens } from '../sessions/session-tokens.js';
import { type NewUserChanges, SignUpService, TAKEN } from '../users/sign-up.service.js';
import { assertMayLogIn, presentUser, type UserRow } from '../users/user.rules.js';
import { UsersRepository } from '../users/users.repository.js';
import { parsePhoneSignUp, parseSmsCode, requirePhoneNumber } from './phone-request.rules.js';
import type { SmsCodeKey } from './sms-codes.repository.js';
import { SmsCodesService } from './sms-codes.service.js';

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
    return user === undefined ? this.#refuseUnknown(key, code) : this.#admit(key, user, code);
  }

  /** POST /1.1/usersByMobilePhone: logs in the user of the number, or creates one. @throws AppError as `admit`, `SignUpService.signUp` */
  async signUpOrLogIn(caller: Caller, body: JsonObject): Promise<RpcReply<typeof phoneNumbersRpc.signUpOrLogIn>> {
    const { appId } = caller;
    const mobilePhoneNumber = requirePhoneNumber(body);
    const code = parseSmsCode(body['smsCode']);
    const key = { appId, purpose: 'generic', mobilePhoneNumber } as const;
    const find = () => this.users.findByIdentifier(appId, 'mobilePhoneNumber', mobilePhoneNumber);
    const logIn = async (owner: UserRow) => ({ user: await this.#admit(key, owner, code), isNew: false });
    const owner = await find();
    if (owner !== undefined) return logIn(owner);
    try {
      return { user: await this.#signUp(caller, key, code, body), isNew: true };
    } catch (error) {
      // A test code is right for several requests at once: another one has signed up the number since the lookup.
      const found = TAKEN.some((name) => isAppError(error, name)) ? await find() : undefined;
      if (found === undefined) throw error;
      return logIn(found);
    }
  }

  /** Only a successful login redeems the code. @throws AppError INVALID_SMS_CODE, LOCKED_OUT, PHONE_UNVERIFIED, EMAIL_UNVERIFIED */
  async #admit(key: SmsCodeKey, { objectId }: UserRow, code: string): Promise<VisibleUser> {
    const settings = await this.applications.settingsOf(key.appId);
    await this.#assertCodeUnderLockout(key, { objectId }, code);
    const user = await this.codes.redeem(key, code, async (tx) => {
      const current = await this.users.lock(tx, key.appId, objectId);
      if (current?.mobilePhoneNumber !== key.mobilePhoneNumber) throw appError('INVALID_SMS_CODE');
      // Another person may have set the unverified number: its owner must not share that account.
      if (!current.mobilePhoneVerified) throw appError('PHONE_UNVERIFIED');
      assertMayLogIn(current, settings);
      return current;
    });
    return presentUser(user, { viewer: 'owner', sessionToken: this.sessions.reveal(user) });
  }

  async #refuseUnknown(key: SmsCodeKey, code: string): Promise<never> {
    const { quietProfile } = await this.applications.settingsOf(key.appId);
    if (!quietProfile) throw appError('PHONE_NOT_FOUND');
    await this.#assertCodeOfUnknown(key, code);
    throw appError('INVALID_SMS_CODE');
  }

  async #signUp(caller: Caller, key: SmsCodeKey, code: string, body: JsonObject): Promise<VisibleUser> {
    // Before the fields are parsed: logins ignore invalid fields, so an error about them would reveal that no user has the number.
    await this.#assertCodeOfUnknown(key, code);
    const changes = parsePhoneSignUp(body, key.mobilePhoneNumber, caller.isMaster);
    const { username } = changes;
    if (username !== undefined) return this.#create(caller, key, code, { ...changes, username });
    try {
      return await this.#create(caller, key, code, { ...changes, username: key.mobilePhoneNumber });
    } catch (error) {
      // Another user has the number as its username; the sign-up still succeeds.
      if (!isAppError(error, 'USERNAME_TAKEN')) throw error;
      return this.#create(caller, key, code, { ...changes, username: newUsername() });
    }
  }

  async #create(caller: Caller, key: SmsCodeKey, code: string, changes: NewUserChanges): Promise<VisibleUser> {
    const prepared = await this.signUps.prepareUser(caller, changes);
    return this.codes.redeem(key, code, (tx) => prepared.run(tx));
  }

  async #assertCodeUnderLockout(
    key: SmsCodeKey,
    { objectId: userId }: Pick<UserRow, 'objectId'>,
    code: string,
  ): Promise<void> {
    const isCorrect = await this.lockouts.verify({ appId: key.appId, userId }, 'code', () =>
      this.codes.guess(key, code),
    );
    if (!isCorrect) throw appError('INVALID_SMS_CODE');
  }

  /** With `quietProfile`, wrong codes lock a number without a user too. A right one passes under that lock, since it proves the number. */
  async #assertCodeOfUnknown(key: SmsCodeKey, code: string): Promise<void> {
    if (await this.codes.guess(key, code)) return;
    const { quietProfile } = await this.applications.settingsOf(key.appId);
    const subject = this.lockouts.decoyAccount(key.appId, 'mobilePhoneNumber', key.mobilePhoneNumber);
    if (quietProfile) await this.lockouts.verify(subject, 'code', () => Promise.resolve(false));
    throw appError('INVALID_SMS_CODE');
  }
}

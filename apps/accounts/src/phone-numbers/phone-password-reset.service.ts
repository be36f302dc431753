import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject } from '#contracts';
import { appError } from '#errors';
import { LockoutService } from '../lockout/lockout.service.js';
import { NewPasswords } from '../passwords/new-passwords.js';
import { requirePassword } from '../users/user-changes.rules.js';
import type { UserRow } from '../users/user.row.js';
import { UsersRepository } from '../users/users.repository.js';
import { CodeRedeemer } from './code-redeemer.js';
import { PhoneNumberResolver } from './phone-number.resolver.js';
import { parseSmsCode } from './phone-request.rules.js';
import type { SmsCodeKey } from './sms-code.row.js';
import { SmsCodesService } from './sms-codes.service.js';

/** PUT /1.1/resetPasswordBySmsCode/<code> */
@Injectable()
export class PhonePasswordResetService {
  constructor(
    private readonly numbers: PhoneNumberResolver,
    private readonly codes: SmsCodesService,
    private readonly users: UsersRepository,
    private readonly newPasswords: NewPasswords,
    private readonly lockouts: LockoutService,
    private readonly redeemer: CodeRedeemer,
  ) {}

  /** @throws AppError INVALID_SMS_CODE, PHONE_NOT_FOUND, PHONE_UNVERIFIED */
  async reset(caller: Caller, given: string, body: JsonObject): Promise<void> {
    const { appId } = caller;
    const code = parseSmsCode(given);
    const password = requirePassword(body['password']);
    const mobilePhoneNumber = await this.numbers.ofCode(caller, body, 'reset', code);
    const key = { appId, purpose: 'reset', mobilePhoneNumber } as const;
    // Judged before it is redeemed: a wrong code shall not cost the hashing of a password.
    if (!(await this.codes.guess(key, code))) throw appError('INVALID_SMS_CODE');
    const { objectId } = await this.findProven(key);
    const prepared = await this.newPasswords.prepare(objectId, password, true);
    // Before the password: once the code is used up, nothing could make good a lock that stayed.
    await this.lockouts.clear({ appId, userId: objectId });
    await this.redeemer.change(key, code, objectId, (current) => {
      assertProven(current, key);
      return { ...current, ...prepared.columns };
    });
  }

  private async findProven(key: SmsCodeKey): Promise<UserRow> {
    const owner = await this.users.findByIdentifier(key.appId, 'mobilePhoneNumber', key.mobilePhoneNumber);
    if (owner === undefined) throw appError('PHONE_NOT_FOUND');
    assertProven(owner, key);
    return owner;
  }
}

/** @throws AppError PHONE_NOT_FOUND where the number was taken away; PHONE_UNVERIFIED where it is not proven to be the user's */
function assertProven(user: UserRow, { mobilePhoneNumber }: SmsCodeKey): void {
  if (user.mobilePhoneNumber !== mobilePhoneNumber) throw appError('PHONE_NOT_FOUND');
  if (!user.mobilePhoneVerified) throw appError('PHONE_UNVERIFIED');
}

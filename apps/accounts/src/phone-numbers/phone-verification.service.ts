import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject } from '#contracts';
import { appError } from '#errors';
import { SessionTokens } from '../sessions/session-tokens.js';
import { UserAccess } from '../users/user-access.js';
import type { UserRow } from '../users/user.row.js';
import { UsersRepository } from '../users/users.repository.js';
import { CodeRedeemer } from './code-redeemer.js';
import { PhoneNumberResolver } from './phone-number.resolver.js';
import { parseSmsCode, requirePhoneNumber } from './phone-request.rules.js';
import type { SmsCodeKey } from './sms-code.row.js';
import { SmsCodesService } from './sms-codes.service.js';

/** Lets a code prove that whoever shows it has the number. */
@Injectable()
export class PhoneVerificationService {
  constructor(
    private readonly codes: SmsCodesService,
    private readonly numbers: PhoneNumberResolver,
    private readonly users: UsersRepository,
    private readonly access: UserAccess,
    private readonly redeemer: CodeRedeemer,
    private readonly sessions: SessionTokens,
  ) {}

  /** POST /1.1/verifySmsCode/<code>: proves the number to the application, and changes no user. */
  async verifyCode(caller: Caller, given: string, body: JsonObject): Promise<void> {
    const code = parseSmsCode(given);
    const mobilePhoneNumber = await this.numbers.ofRequest(caller, body);
    const key = { appId: caller.appId, purpose: 'generic', mobilePhoneNumber } as const;
    await this.assertRight(key, code);
    await this.redeemer.redeem(key, code, () => Promise.resolve());
  }

  /**
   * POST /1.1/verifyMobilePhone/<code>. Without the user's own session, the account goes over to who has the number: whoever
   * put an unproven number on it must not share it with the number's owner, so its password, its accounts on other platforms and its
   * session token end.
   */
  async verifyPhone(caller: Caller, given: string, body: JsonObject): Promise<JsonObject> {
    const code = parseSmsCode(given);
    const mobilePhoneNumber = await this.numbers.ofCode(caller, body, 'verify', code);
    const key = { appId: caller.appId, purpose: 'verify', mobilePhoneNumber } as const;
    await this.assertRight(key, code);
    const owner = await this.users.findByIdentifier(caller.appId, 'mobilePhoneNumber', mobilePhoneNumber);
    if (owner === undefined) throw appError('PHONE_NOT_FOUND');
    const { objectId, updatedAt } = await this.redeemer.change(key, code, owner.objectId, (current) => {
      if (current.mobilePhoneNumber !== mobilePhoneNumber) throw appError('PHONE_NOT_FOUND');
      const isOwn = caller.isMaster || this.access.isOwner(caller, current);
      const proven = { ...current, mobilePhoneVerified: true };
      return isOwn ? proven : this.handedOver(proven);
    });
    return { updatedAt: updatedAt.toISOString(), objectId };
  }

  /** POST /1.1/changePhoneNumber. @throws AppError SESSION_REQUIRED, FORBIDDEN, PHONE_TAKEN */
  async changePhone(caller: Caller, body: JsonObject): Promise<void> {
    const { objectId: userId } = await this.numbers.userOf(caller);
    const mobilePhoneNumber = requirePhoneNumber(body);
    const code = parseSmsCode(body['code']);
    const key = { appId: caller.appId, purpose: 'change', mobilePhoneNumber, userId } as const;
    await this.assertRight(key, code);
    await this.redeemer.change(key, code, userId, async (current, tx) => {
      await this.access.assertMayWrite(caller, current, tx);
      return { ...current, mobilePhoneNumber, mobilePhoneVerified: true };
    });
  }

  /** With no other way in than the number. */
  private handedOver(user: UserRow): UserRow {
    return { ...user, passwordHash: null, identities: null, ...this.sessions.create(user.objectId).columns };
  }

  private async assertRight(key: SmsCodeKey, code: string): Promise<void> {
    if (!(await this.codes.guess(key, code))) throw appError('INVALID_SMS_CODE');
  }
}

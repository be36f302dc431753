import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject } from '#contracts';
import { appError } from '#errors';
import { SessionTokens } from '../sessions/session-tokens.js';
import type { UserRow } from '../users/user.row.js';
import { UsersRepository } from '../users/users.repository.js';
import { findPhoneNumber } from './phone-request.rules.js';
import type { SmsCodeKey } from './sms-code.row.js';
import { SmsCodesService } from './sms-codes.service.js';

/** Finds out which number a request is about: SDKs do not always say. */
@Injectable()
export class PhoneNumberResolver {
  constructor(
    private readonly users: UsersRepository,
    private readonly sessions: SessionTokens,
    private readonly codes: SmsCodesService,
  ) {}

  /** The number in the body, or else that of the caller. @throws AppError PHONE_MISSING, INVALID_PHONE */
  async ofRequest(caller: Caller, body: JsonObject): Promise<string> {
    const number = findPhoneNumber(body) ?? (await this.findUser(caller))?.mobilePhoneNumber;
    if (number === undefined || number === null) throw appError('PHONE_MISSING');
    return number;
  }

  /** The number in the body, or else that of the caller, or else the one to which the code was sent. @throws AppError INVALID_PHONE, INVALID_SMS_CODE */
  async ofCode(caller: Caller, body: JsonObject, purpose: SmsCodeKey['purpose'], code: string): Promise<string> {
    const number =
      findPhoneNumber(body) ??
      (await this.findUser(caller))?.mobilePhoneNumber ??
      (await this.codes.guessNumber({ appId: caller.appId, purpose }, code));
    if (number === undefined) throw appError('INVALID_SMS_CODE');
    return number;
  }

  /** The user whose session the request carries. @throws AppError SESSION_REQUIRED */
  async userOf(caller: Caller): Promise<UserRow> {
    const user = await this.findUser(caller);
    if (user === undefined) throw appError('SESSION_REQUIRED');
    return user;
  }

  private async findUser({ appId, sessionToken }: Caller): Promise<UserRow | undefined> {
    if (sessionToken === undefined) return undefined;
    return this.users.findBySessionToken(appId, this.sessions.hashes(sessionToken));
  }
}

import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject } from '#contracts';
import { appError, type ErrorName } from '#errors';
import { ApplicationsService } from '../applications/applications.service.js';
import type { UserRow } from '../users/user.row.js';
import { UsersRepository } from '../users/users.repository.js';
import { PhoneNumberResolver } from './phone-number.resolver.js';
import { parseMessageOptions, parseTtlMinutes, requirePhoneNumber } from './phone-request.rules.js';
import type { SmsCodeKey } from './sms-code.row.js';
import { type CodeRequest, SmsSender } from './sms-sender.js';

const TTL_MINUTES = 10;
const CHANGE_TTL_MINUTES = 6;

/**
 * The requests that a code be sent. Where answers are quiet, those about numbers that cannot get it are answered as if
 * it had been sent.
 */
@Injectable()
export class CodeRequestsService {
  constructor(
    private readonly users: UsersRepository,
    private readonly numbers: PhoneNumberResolver,
    private readonly applications: ApplicationsService,
    private readonly sender: SmsSender,
  ) {}

  /** POST /1.1/requestSmsCode, to any number. */
  async requestCode({ appId, requestId }: Caller, body: JsonObject): Promise<void> {
    const key = { appId, purpose: 'generic', mobilePhoneNumber: requirePhoneNumber(body) } as const;
    const ttlMinutes = parseTtlMinutes(body, TTL_MINUTES);
    await this.sender.send({ key, ttlMinutes, requestId, message: parseMessageOptions(body) });
  }

  /** POST /1.1/requestLoginSmsCode. @throws AppError PHONE_NOT_FOUND, PHONE_UNVERIFIED */
  async requestLogin(caller: Caller, body: JsonObject): Promise<void> {
    await this.sendToProven(caller, 'login', body);
  }

  /** POST /1.1/requestPasswordResetBySmsCode. @throws AppError PHONE_NOT_FOUND, PHONE_UNVERIFIED */
  async requestPasswordReset(caller: Caller, body: JsonObject): Promise<void> {
    await this.sendToProven(caller, 'reset', body);
  }

  /** POST /1.1/requestMobilePhoneVerify: where there is nothing left to verify, nothing is sent. @throws AppError PHONE_NOT_FOUND */
  async requestVerification(caller: Caller, body: JsonObject): Promise<void> {
    const { appId, requestId } = caller;
    const key = { appId, purpose: 'verify', mobilePhoneNumber: await this.numbers.ofRequest(caller, body) } as const;
    const request = { key, ttlMinutes: TTL_MINUTES, requestId };
    const owner = await this.ownerOf(key);
    if (owner === undefined) return this.refuse(request, 'PHONE_NOT_FOUND');
    if (!owner.mobilePhoneVerified) return this.sender.send(request);
    if (await this.isQuiet(appId)) await this.sender.pretend(request);
  }

  /** POST /1.1/requestChangePhoneNumber: the code is for this user alone. @throws AppError SESSION_REQUIRED, PHONE_TAKEN */
  async requestChange(caller: Caller, body: JsonObject): Promise<void> {
    const { appId, requestId } = caller;
    const { objectId: userId } = await this.numbers.userOf(caller);
    const mobilePhoneNumber = requirePhoneNumber(body);
    const ttlMinutes = parseTtlMinutes(body, CHANGE_TTL_MINUTES);
    const key = { appId, purpose: 'change', mobilePhoneNumber, userId } as const;
    const request = { key, ttlMinutes, requestId };
    const owner = await this.ownerOf(key);
    if (owner !== undefined && owner.objectId !== userId) return this.refuse(request, 'PHONE_TAKEN');
    await this.sender.send(request);
  }

  /** A number that nobody has proven opens no account: whoever put it there may not be its owner (docs/decisions.md). */
  private async sendToProven(
    { appId, requestId }: Caller,
    purpose: 'login' | 'reset',
    body: JsonObject,
  ): Promise<void> {
    const key = { appId, purpose, mobilePhoneNumber: requirePhoneNumber(body) };
    const request = { key, ttlMinutes: TTL_MINUTES, requestId };
    const owner = await this.ownerOf(key);
    if (owner === undefined) return this.refuse(request, 'PHONE_NOT_FOUND');
    if (!owner.mobilePhoneVerified) return this.refuse(request, 'PHONE_UNVERIFIED');
    await this.sender.send(request);
  }

  private async refuse(request: CodeRequest, error: ErrorName): Promise<void> {
    if (!(await this.isQuiet(request.key.appId))) throw appError(error);
    await this.sender.pretend(request);
  }

  private async isQuiet(appId: string): Promise<boolean> {
    return (await this.applications.settingsOf(appId)).quietProfile;
  }

  private ownerOf({ appId, mobilePhoneNumber }: SmsCodeKey): Promise<UserRow | undefined> {
    return this.users.findByIdentifier(appId, 'mobilePhoneNumber', mobilePhoneNumber);
  }
}

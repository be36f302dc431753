import { Controller } from '@nestjs/common';
import {
  type Caller,
  DEFAULT_CHANGE_CODE_TTL_MINUTES,
  DEFAULT_CODE_TTL_MINUTES,
  type JsonObject,
  phoneNumbersRpc,
  type RpcData,
  type RpcReply,
} from '#contracts';
import { appError, type ErrorName } from '#errors';
import { RpcHandler } from '#messaging';
import { requirePassword } from '#objects';
import { ObjectAccess } from '#objects/store';
import { ApplicationsService } from '../applications/applications.service.js';
import { LockoutService } from '../lockout/lockout.service.js';
import { PasswordsService } from '../passwords/passwords.service.js';
import { DailyCounts } from '../users/daily-counts.js';
import type { UserRow, VisibleRow } from '../users/user.rules.js';
import { UsersRepository } from '../users/users.repository.js';
import { UsersService } from '../users/users.service.js';
import { PhoneLoginService } from './phone-login.service.js';
import {
  findPhoneNumber,
  parseMessageOptions,
  parseSmsCode,
  parseTtlMinutes,
  requirePhoneNumber,
} from './phone-request.rules.js';
import type { SmsCodeKey } from './sms-codes.repository.js';
import { type CodeRequest, SmsCodesService } from './sms-codes.service.js';

type Rpc = typeof phoneNumbersRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

/** With `quietProfile`, requests for numbers that cannot receive a code get the same response as if it had been sent. */
@Controller()
export class PhoneNumbersController {
  constructor(
    private readonly logins: PhoneLoginService,
    private readonly users: UsersRepository,
    private readonly owners: UsersService,
    private readonly objectAccess: ObjectAccess,
    private readonly codes: SmsCodesService,
    private readonly applications: ApplicationsService,
    private readonly passwords: PasswordsService,
    private readonly lockouts: LockoutService,
    private readonly counts: DailyCounts,
  ) {}

  /** POST /1.1/requestSmsCode, to any number. */
  @RpcHandler(phoneNumbersRpc.requestCode)
  async requestCode({ caller, body }: Data<'requestCode'>): Reply<'requestCode'> {
    const key = keyOf(caller, 'generic', requirePhoneNumber(body));
    const ttlMinutes = parseTtlMinutes(body, DEFAULT_CODE_TTL_MINUTES);
    await this.codes.send({ ...requestOf(caller, key, ttlMinutes), message: parseMessageOptions(body) });
    return {};
  }

  @RpcHandler(phoneNumbersRpc.signUpOrLogIn)
  async signUpOrLogIn({ caller, body }: Data<'signUpOrLogIn'>): Reply<'signUpOrLogIn'> {
    const entry = await this.logins.signUpOrLogIn(caller, body);
    if (!entry.isNew) this.counts.countLogin(caller.appId);
    return entry;
  }

  @RpcHandler(phoneNumbersRpc.requestLoginCode)
  async requestLoginCode({ caller, body }: Data<'requestLoginCode'>): Reply<'requestLoginCode'> {
    await this.#sendToProven(caller, 'login', body);
    return {};
  }

  @RpcHandler(phoneNumbersRpc.requestPasswordReset)
  async requestPasswordReset({ caller, body }: Data<'requestPasswordReset'>): Reply<'requestPasswordReset'> {
    await this.#sendToProven(caller, 'reset', body);
    return {};
  }

  /** POST /1.1/requestMobilePhoneVerify. A verified number gets no message. @throws AppError PHONE_NOT_FOUND */
  @RpcHandler(phoneNumbersRpc.requestVerification)
  async requestVerification({ caller, body }: Data<'requestVerification'>): Reply<'requestVerification'> {
    const key = keyOf(caller, 'verify', await this.#numberOfRequest(caller, body));
    const request = requestOf(caller, key);
    const owner = await this.#ownerOf(key);
    if (owner === undefined) await this.#refuse(request, 'PHONE_NOT_FOUND');
    else if (!owner.mobilePhoneVerified) await this.codes.send(request);
    else if (await this.#isQuiet(caller.appId)) await this.codes.sendDecoy(request);
    return {};
  }

  /** POST /1.1/requestChangePhoneNumber. Only this user can redeem the code. @throws AppError FORBIDDEN, SESSION_REQUIRED, PHONE_TAKEN */
  @RpcHandler(phoneNumbersRpc.requestChange)
  async requestChange({ caller, body }: Data<'requestChange'>): Reply<'requestChange'> {
    const { objectId: userId } = await this.#changedBy(caller);
    const key = { ...keyOf(caller, 'change', requirePhoneNumber(body)), userId };
    const request = requestOf(caller, key, parseTtlMinutes(body, DEFAULT_CHANGE_CODE_TTL_MINUTES));
    const owner = await this.#ownerOf(key);
    if (owner !== undefined && owner.objectId !== userId) await this.#refuse(request, 'PHONE_TAKEN');
    else await this.codes.send(request);
    return {};
  }

  /** POST /1.1/verifySmsCode/<code>: proves the number to the application and changes no user. */
  @RpcHandler(phoneNumbersRpc.verifyCode)
  async verifyCode({ caller, code: given, body }: Data<'verifyCode'>): Reply<'verifyCode'> {
    const code = parseSmsCode(given);
    const key = keyOf(caller, 'generic', await this.#numberOfRequest(caller, body));
    await this.#assertCode(key, code);
    await this.codes.redeem(key, code, () => Promise.resolve());
    return {};
  }

  /** POST /1.1/verifyMobilePhone/<code>. Changes only the flag: the SDK for Java keeps the session of the sign-up (decisions). */
  @RpcHandler(phoneNumbersRpc.verify)
  async verify({ caller, code: given, body }: Data<'verify'>): Reply<'verify'> {
    const code = parseSmsCode(given);
    const mobilePhoneNumber = await this.#numberOfCode(caller, body, 'verify', code);
    const key = keyOf(caller, 'verify', mobilePhoneNumber);
    await this.#assertCode(key, code);
    const owner = await this.#ownerOf(key);
    if (owner === undefined) throw appError('PHONE_NOT_FOUND');
    const { objectId, updatedAt } = await this.codes.redeemToChange(key, code, owner.objectId, (current) => {
      if (current.mobilePhoneNumber !== mobilePhoneNumber) throw appError('PHONE_NOT_FOUND');
      return { ...current, mobilePhoneVerified: true };
    });
    return { result: { updatedAt: updatedAt.toISOString(), objectId } };
  }

  /** POST /1.1/changePhoneNumber. @throws AppError FORBIDDEN, SESSION_REQUIRED, PHONE_TAKEN */
  @RpcHandler(phoneNumbersRpc.change)
  async change({ caller, body }: Data<'change'>): Reply<'change'> {
    const { objectId: userId } = await this.#changedBy(caller);
    const mobilePhoneNumber = requirePhoneNumber(body);
    const code = parseSmsCode(body['code']);
    const key = { ...keyOf(caller, 'change', mobilePhoneNumber), userId };
    await this.#assertCode(key, code);
    await this.codes.redeemToChange(key, code, userId, async (current, tx) => {
      await this.owners.assertMayWrite(caller, current, tx);
      return { ...current, mobilePhoneNumber, mobilePhoneVerified: true };
    });
    return {};
  }

  /** PUT /1.1/resetPasswordBySmsCode/<code>. @throws AppError INVALID_SMS_CODE, PHONE_NOT_FOUND, PHONE_UNVERIFIED */
  @RpcHandler(phoneNumbersRpc.resetPassword)
  async resetPassword({ caller, code: given, body }: Data<'resetPassword'>): Reply<'resetPassword'> {
    const code = parseSmsCode(given);
    const password = requirePassword(body['password']);
    const key = keyOf(caller, 'reset', await this.#numberOfCode(caller, body, 'reset', code));
    // Verified before it is redeemed, so a wrong code does not cost the hashing of a password.
    await this.#assertCode(key, code);
    const { objectId } = await this.#findProven(key);
    const prepared = await this.passwords.prepare(objectId, password, { renewsSession: true });
    // Before the password: a redeemed code cannot be sent again to remove a lock that stayed.
    await this.lockouts.clear({ appId: caller.appId, userId: objectId });
    await this.codes.redeemToChange(key, code, objectId, (current) => {
      assertProven(current, key);
      return { ...current, ...prepared.columns };
    });
    return {};
  }

  /** An unverified number opens no account, since another person may have set it (docs/decisions.md). */
  async #sendToProven(caller: Caller, purpose: 'login' | 'reset', body: JsonObject): Promise<void> {
    const key = keyOf(caller, purpose, requirePhoneNumber(body));
    const request = requestOf(caller, key);
    const owner = await this.#ownerOf(key);
    if (owner === undefined) return this.#refuse(request, 'PHONE_NOT_FOUND');
    if (!owner.mobilePhoneVerified) return this.#refuse(request, 'PHONE_UNVERIFIED');
    await this.codes.send(request);
  }

  async #refuse(request: CodeRequest, error: ErrorName): Promise<void> {
    if (!(await this.#isQuiet(request.key.appId))) throw appError(error);
    await this.codes.sendDecoy(request);
  }

  async #isQuiet(appId: string): Promise<boolean> {
    return (await this.applications.settingsOf(appId)).quietProfile;
  }

  #ownerOf({ appId, mobilePhoneNumber }: SmsCodeKey): Promise<UserRow | undefined> {
    return this.users.findByIdentifier(appId, 'mobilePhoneNumber', mobilePhoneNumber);
  }

  async #assertCode(key: SmsCodeKey, code: string): Promise<void> {
    if (!(await this.codes.guess(key, code))) throw appError('INVALID_SMS_CODE');
  }

  async #findProven(key: SmsCodeKey): Promise<UserRow> {
    const owner = await this.#ownerOf(key);
    if (owner === undefined) throw appError('PHONE_NOT_FOUND');
    assertProven(owner, key);
    return owner;
  }

  /** The number in the body, else that of the caller: SDKs do not always send it. @throws AppError PHONE_MISSING, INVALID_PHONE */
  async #numberOfRequest(caller: Caller, body: JsonObject): Promise<string> {
    const number = findPhoneNumber(body) ?? (await this.owners.current(caller))?.mobilePhoneNumber;
    if (number === undefined || number === null) throw appError('PHONE_MISSING');
    return number;
  }

  /** The number in the body, else that of the caller, else that of the code. @throws AppError INVALID_PHONE, INVALID_SMS_CODE */
  async #numberOfCode(caller: Caller, body: JsonObject, purpose: SmsCodeKey['purpose'], code: string): Promise<string> {
    const number =
      findPhoneNumber(body) ??
      (await this.owners.current(caller))?.mobilePhoneNumber ??
      (await this.codes.guessNumber({ appId: caller.appId, purpose }, code));
    if (number === undefined) throw appError('INVALID_SMS_CODE');
    return number;
  }

  async #changedBy(caller: Caller): Promise<VisibleRow> {
    await this.objectAccess.assertMay(caller, 'update', '_User');
    const user = await this.owners.current(caller);
    if (user === undefined) throw appError('SESSION_REQUIRED');
    return user;
  }
}

function keyOf({ appId }: Caller, purpose: SmsCodeKey['purpose'], mobilePhoneNumber: string): SmsCodeKey {
  return { appId, purpose, mobilePhoneNumber };
}

function requestOf({ requestId }: Caller, key: SmsCodeKey, ttlMinutes = DEFAULT_CODE_TTL_MINUTES): CodeRequest {
  return { key, ttlMinutes, requestId };
}

function assertProven(user: UserRow, { mobilePhoneNumber }: SmsCodeKey): void {
  if (user.mobilePhoneNumber !== mobilePhoneNumber) throw appError('PHONE_NOT_FOUND');
  if (!user.mobilePhoneVerified) throw appError('PHONE_UNVERIFIED');
}

import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject, VisibleUser } from '#contracts';
import { AppError } from '#errors';
import { newUsername } from '../random-ids.js';
import { SignUpService } from '../users/sign-up.service.js';
import type { UserDraft } from '../users/user.factory.js';
import { UsersRepository } from '../users/users.repository.js';
import { CodeRedeemer } from './code-redeemer.js';
import { PhoneLoginService } from './phone-login.service.js';
import { parsePhoneSignUp, parseSmsCode, requirePhoneNumber } from './phone-request.rules.js';
import { SmsCodeJudge } from './sms-code.judge.js';
import type { SmsCodeKey } from './sms-code.row.js';

/** A user who was let in by a number. */
export interface Entry {
  readonly user: VisibleUser;
  readonly isNew: boolean;
}

/** POST /1.1/usersByMobilePhone: whoever has the number gets into its account, or into a new one. */
@Injectable()
export class PhoneEntryService {
  constructor(
    private readonly users: UsersRepository,
    private readonly judge: SmsCodeJudge,
    private readonly logins: PhoneLoginService,
    private readonly signUps: SignUpService,
    private readonly redeemer: CodeRedeemer,
  ) {}

  /** @throws AppError as `PhoneLoginService.admit` or `SignUpService.signUp` */
  async enter(caller: Caller, body: JsonObject): Promise<Entry> {
    const { appId } = caller;
    const mobilePhoneNumber = requirePhoneNumber(body);
    const code = parseSmsCode(body['smsCode']);
    const key = { appId, purpose: 'generic', mobilePhoneNumber } as const;
    const owner = await this.users.findByIdentifier(appId, 'mobilePhoneNumber', mobilePhoneNumber);
    if (owner !== undefined) return { user: await this.logins.admit(key, owner, code), isNew: false };
    return { user: await this.signUp(caller, key, code, body), isNew: true };
  }

  private async signUp(caller: Caller, key: SmsCodeKey, code: string, body: JsonObject): Promise<VisibleUser> {
    // First of all: with an existing user wrong fields are no mistake, so they must not tell that there is none.
    await this.judge.assertNobodys(key, code);
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

  private async create(
    caller: Caller,
    key: SmsCodeKey,
    code: string,
    changes: UserDraft['changes'],
  ): Promise<VisibleUser> {
    const prepared = await this.signUps.prepareUser(caller, changes);
    return this.redeemer.redeem(key, code, (tx) => prepared.run(tx));
  }
}

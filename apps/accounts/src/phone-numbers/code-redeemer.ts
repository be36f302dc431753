import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';
import { appError } from '#errors';
import type { UserRow } from '../users/user.row.js';
import { UserWriter } from '../users/user-writer.js';
import type { SmsCodeKey } from './sms-code.row.js';
import { SmsCodesService } from './sms-codes.service.js';

/** Sees the user locked, and refuses a change by throwing. */
type Decision = (current: UserRow, tx: Tx) => Promise<UserRow> | UserRow;

/** Lets a code that was judged right do what it is for: it is used up in the transaction that does it, or neither happens. */
@Injectable()
export class CodeRedeemer {
  constructor(
    private readonly codes: SmsCodesService,
    private readonly writer: UserWriter,
  ) {}

  /** @throws AppError INVALID_SMS_CODE where somebody else was faster */
  async redeem<T>(key: SmsCodeKey, code: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.writer.transaction(async (tx) => {
      if (!(await this.codes.redeem(tx, key, code))) throw appError('INVALID_SMS_CODE');
      return work(tx);
    });
  }

  /** Changes a user as `decide` says. @throws AppError as `redeem`; PHONE_NOT_FOUND where there is no such user any more */
  async change(key: SmsCodeKey, code: string, userId: string, decide: Decision): Promise<UserRow> {
    return this.redeem(key, code, async (tx) => {
      const user = await this.writer.change(tx, key, userId, (current) => decide(current, tx));
      if (user === undefined) throw appError('PHONE_NOT_FOUND');
      return user;
    });
  }
}

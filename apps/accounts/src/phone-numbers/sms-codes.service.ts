import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import {
  type CodePurpose,
  DEFAULT_CODE_TTL_MINUTES,
  events,
  sealedCodeContext,
  type TextMessageOptions,
} from '#contracts';
import { Database, Outbox, type Tx } from '#database';
import { appError } from '#errors';
import { randomDigits, Sealer } from '#security';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { ApplicationsService } from '../applications/applications.service.js';
import { MessageAllowancesRepository } from '../messages/message-allowances.repository.js';
import { UserTransactions } from '../users/user-transactions.js';
import type { UserRow } from '../users/user.rules.js';
import { type SmsCodeKey, SmsCodesRepository } from './sms-codes.repository.js';

/** Purposes whose codes SDKs send without the number. */
const NUMBERLESS: ReadonlySet<CodePurpose> = new Set<CodePurpose>(['verify', 'reset']);

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

export interface CodeRequest {
  readonly key: SmsCodeKey;
  readonly ttlMinutes: number;
  readonly message?: TextMessageOptions;
  readonly requestId: string;
}

type Decision = (current: UserRow, tx: Tx) => Promise<UserRow> | UserRow;

const REFUSALS = { tooFast: 'SMS_TOO_FAST', tooMany: 'SMS_TOO_FREQUENT' } as const;

/** Creates, sends, verifies and redeems codes. Only keyed hashes of them are stored. */
@Injectable()
export class SmsCodesService {
  constructor(
    private readonly repository: SmsCodesRepository,
    private readonly allowances: MessageAllowancesRepository,
    private readonly applications: ApplicationsService,
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly sealer: Sealer,
    private readonly clock: Clock,
    private readonly transactions: UserTransactions,
    @Inject(ACCOUNTS_CONFIG) private readonly config: Pick<AccountsConfig, 'textMessageLimit'>,
  ) {}

  async send(request: CodeRequest): Promise<void> {
    await this.#store(request, true);
  }

  /** Does the same work as `send` without sending the code, so the response does not reveal which numbers have an account. */
  async sendDecoy(request: CodeRequest): Promise<void> {
    await this.#store(request, false);
  }

  /** Whether the code is right; it is not redeemed. A wrong guess counts, and the fifth invalidates the code. */
  async guess(key: SmsCodeKey, code: string): Promise<boolean> {
    const testCode = await this.#testCode(key);
    if (testCode === undefined) return this.repository.guess(key, this.#hashes(key, code), this.clock.now());
    // In one transaction: a redemption at the same time would take the new code away before the guess.
    return this.database.transaction(async (tx) => {
      await this.#createTestCode(tx, key, testCode);
      return this.repository.guess(key, this.#hashes(key, code), this.clock.now(), tx);
    });
  }

  async guessNumber(key: Pick<SmsCodeKey, 'appId' | 'purpose'>, code: string): Promise<string | undefined> {
    const hashes = this.#numberlessHashes(key, code);
    return this.database.transaction((tx) => this.repository.guessNumber(tx, key, hashes, this.clock.now()));
  }

  /** The code is redeemed with `work` or not at all. @throws AppError INVALID_SMS_CODE where a concurrent request has redeemed it */
  async redeem<T>(key: SmsCodeKey, code: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    const testCode = await this.#testCode(key);
    return this.database.repeatable(async (tx) => {
      if (testCode !== undefined) await this.#createTestCode(tx, key, testCode);
      const isRedeemed = await this.repository.redeem(tx, key, this.#hashes(key, code), this.clock.now());
      if (!isRedeemed) throw appError('INVALID_SMS_CODE');
      return work(tx);
    });
  }

  /** Redeems a code to change a user. @throws AppError as `redeem`; PHONE_NOT_FOUND where the user no longer exists */
  async redeemToChange(key: SmsCodeKey, code: string, userId: string, decide: Decision): Promise<UserRow> {
    return this.redeem(key, code, async (tx) => {
      const user = await this.transactions.change(tx, key, userId, (current) => decide(current, tx));
      if (user === undefined) throw appError('PHONE_NOT_FOUND');
      return user;
    });
  }

  async #store(request: CodeRequest, isSent: boolean): Promise<void> {
    const { key, ttlMinutes } = request;
    const code = await this.#testCode(key);
    const now = this.clock.now();
    const expiresAt = minutesAfter(now, ttlMinutes);
    const event = code === undefined ? await this.#eventOf(request, expiresAt) : undefined;
    await this.database.transaction(async (tx) => {
      if (event !== undefined) await this.#takeAllowance(tx, key, now);
      const sealedCode = await this.#create(tx, key, code ?? randomDigits(6, 10), expiresAt);
      if (event === undefined) return;
      const message = { ...event, sealedCode };
      if (isSent) await this.outbox.add(tx, events.smsRequested, message, request);
      else await this.outbox.addDecoy(tx, events.smsRequested, message, request);
    });
  }

  /** The fixed code of a test number, which receives no message. */
  async #testCode({ appId, mobilePhoneNumber }: SmsCodeKey): Promise<string | undefined> {
    const { testPhones } = await this.applications.settingsOf(appId);
    return Object.hasOwn(testPhones, mobilePhoneNumber) ? testPhones[mobilePhoneNumber] : undefined;
  }

  async #eventOf({ key, ttlMinutes, message = { smsType: 'sms' } }: CodeRequest, expiresAt: Date) {
    const name = message.name ?? (await this.applications.profileOf(key.appId)).name;
    return { ...message, ...key, name, ttlMinutes, expiresAt: expiresAt.toISOString() };
  }

  async #takeAllowance(tx: Tx, key: SmsCodeKey, now: Date): Promise<void> {
    const { appId, mobilePhoneNumber: recipient } = key;
    const refusal = await this.allowances.take(tx, { kind: 'sms', appId, recipient }, now);
    if (refusal !== undefined) throw appError(REFUSALS[refusal.reason], refusal);
    await this.#takeAllowanceOfApplication(tx, appId, now);
    await this.allowances.removeExpired(tx, 'sms', now);
  }

  /** After that of the number: what a refused request has counted is rolled back. Codes expire, so none waits for the next window. */
  async #takeAllowanceOfApplication(tx: Tx, appId: string, now: Date): Promise<void> {
    const limit = this.config.textMessageLimit;
    const fullUntil = limit && (await this.allowances.takeOfApplication(tx, appId, limit, now));
    if (fullUntil === undefined) return;
    const retryAfterSeconds = Math.max(1, Math.ceil((fullUntil.getTime() - now.getTime()) / SECOND_MS));
    throw appError('SMS_TOO_FREQUENT', { retryAfterSeconds });
  }

  /** A test number has its code without a request, and has it again after it was redeemed. Wrong guesses still invalidate it. */
  async #createTestCode(tx: Tx, key: SmsCodeKey, code: string): Promise<void> {
    await this.#create(tx, key, code, minutesAfter(this.clock.now(), DEFAULT_CODE_TTL_MINUTES));
  }

  /** @returns the code, sealed for the message */
  async #create(tx: Tx, key: SmsCodeKey, code: string, expiresAt: Date): Promise<string> {
    const numberlessHash = NUMBERLESS.has(key.purpose) ? this.#numberlessHashes(key, code)[0] : undefined;
    const now = this.clock.now();
    await this.repository.put(tx, { ...key, hashes: this.#hashes(key, code), numberlessHash, expiresAt }, now);
    await this.repository.removeExpired(tx, now);
    return this.sealer.seal(code, sealedCodeContext(key));
  }

  #hashes({ appId, purpose, mobilePhoneNumber, userId = '' }: SmsCodeKey, code: string): readonly Buffer[] {
    return this.sealer.lookupHashes(JSON.stringify(['sms code', appId, purpose, mobilePhoneNumber, userId, code]));
  }

  #numberlessHashes({ appId, purpose }: Pick<SmsCodeKey, 'appId' | 'purpose'>, code: string): readonly Buffer[] {
    return this.sealer.lookupHashes(JSON.stringify(['numberless sms code', appId, purpose, code]));
  }
}

function minutesAfter(time: Date, minutes: number): Date {
  return new Date(time.getTime() + minutes * MINUTE_MS);
}

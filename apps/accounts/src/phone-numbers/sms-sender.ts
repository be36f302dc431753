import { Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { events, type TextMessageOptions } from '#contracts';
import { Database, Outbox, type Tx } from '#database';
import { appError } from '#errors';
import { ApplicationsService } from '../applications/applications.service.js';
import { SmsAllowancesRepository } from './sms-allowances.repository.js';
import type { SmsCodeKey } from './sms-code.row.js';
import { SmsCodesService } from './sms-codes.service.js';

const MINUTE_MS = 60_000;

/** A code that somebody asks for. */
export interface CodeRequest {
  readonly key: SmsCodeKey;
  readonly ttlMinutes: number;
  readonly message?: TextMessageOptions;
  /** The HTTP request. */
  readonly requestId: string;
}

/** Sends codes to phone numbers: each is stored in one transaction with the event that brings it. */
@Injectable()
export class SmsSender {
  constructor(
    private readonly codes: SmsCodesService,
    private readonly allowances: SmsAllowancesRepository,
    private readonly applications: ApplicationsService,
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
  ) {}

  /** @throws AppError SMS_TOO_FAST, SMS_TOO_FREQUENT */
  async send(request: CodeRequest): Promise<void> {
    await this.store(request, true);
  }

  /** Answers as `send` does after the same work, and tells nobody the code: so nobody learns which numbers have an account. */
  async pretend(request: CodeRequest): Promise<void> {
    await this.store(request, false);
  }

  private async store(request: CodeRequest, isTold: boolean): Promise<void> {
    const { key, ttlMinutes } = request;
    const code = await this.testCode(key);
    const now = this.clock.now();
    const expiresAt = new Date(now.getTime() + ttlMinutes * MINUTE_MS);
    const event = code === undefined ? await this.eventOf(request, expiresAt) : undefined;
    await this.database.transaction(async (tx) => {
      if (event !== undefined) await this.takeAllowance(tx, key, now);
      const sealedCode = await this.codes.create(tx, { key, code, expiresAt });
      if (event !== undefined && isTold)
        await this.outbox.add(tx, events.smsRequested, { ...event, sealedCode }, request);
    });
  }

  /** The fixed code of a test number. Nothing is sent to those. */
  private async testCode({ appId, mobilePhoneNumber }: SmsCodeKey): Promise<string | undefined> {
    const { testPhones } = await this.applications.settingsOf(appId);
    return Object.hasOwn(testPhones, mobilePhoneNumber) ? testPhones[mobilePhoneNumber] : undefined;
  }

  private async eventOf({ key, ttlMinutes, message = { smsType: 'sms' } }: CodeRequest, expiresAt: Date) {
    const { appId, mobilePhoneNumber, purpose } = key;
    const name = message.name ?? (await this.applications.profileOf(appId)).name;
    return { ...message, name, appId, mobilePhoneNumber, purpose, ttlMinutes, expiresAt: expiresAt.toISOString() };
  }

  private async takeAllowance(tx: Tx, key: SmsCodeKey, now: Date): Promise<void> {
    const { appId, mobilePhoneNumber: recipient } = key;
    const outcome = await this.allowances.take(tx, { appId, recipient }, now);
    if (outcome === 'tooFast') throw appError('SMS_TOO_FAST');
    if (outcome === 'tooMany') throw appError('SMS_TOO_FREQUENT');
    await this.allowances.removeExpired(tx, now);
  }
}

import { Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { type CodePurpose, sealedCodeContext } from '#contracts';
import { Database, type Tx } from '#database';
import { Sealer } from '#security';
import { newSmsCode } from '../random-ids.js';
import type { SmsCodeKey } from './sms-code.row.js';
import { SmsCodesRepository } from './sms-codes.repository.js';

/** Whose codes SDKs send back without the number. */
const NUMBERLESS: ReadonlySet<CodePurpose> = new Set<CodePurpose>(['verify', 'reset']);

/** A code that shall be made. */
export interface NewSmsCode {
  readonly key: SmsCodeKey;
  /** Made up unless given. */
  readonly code?: string | undefined;
  readonly expiresAt: Date;
}

/** Makes codes, and judges them. They are stored as keyed hashes only. */
@Injectable()
export class SmsCodesService {
  constructor(
    private readonly repository: SmsCodesRepository,
    private readonly database: Database,
    private readonly sealer: Sealer,
    private readonly clock: Clock,
  ) {}

  /** Makes a code, and ends the one before it. @returns the code, sealed for the message that brings it */
  async create(tx: Tx, { key, code = newSmsCode(), expiresAt }: NewSmsCode): Promise<string> {
    const numberlessHash = NUMBERLESS.has(key.purpose) ? this.numberlessHashes(key, code)[0] : undefined;
    const now = this.clock.now();
    await this.repository.put(tx, { ...key, hashes: this.hashes(key, code), numberlessHash, expiresAt }, now);
    await this.repository.removeExpired(tx, now);
    return this.sealer.seal(code, sealedCodeContext(key));
  }

  /** Whether the code is right; it stays to be redeemed. A wrong one counts, and the fifth kills the code. */
  async guess(key: SmsCodeKey, code: string): Promise<boolean> {
    return this.repository.guess(key, this.hashes(key, code), this.clock.now());
  }

  /** Uses a code up, in the transaction of what it was for. Of many at once one gets true. */
  async redeem(tx: Tx, key: SmsCodeKey, code: string): Promise<boolean> {
    return this.repository.redeem(tx, key, this.hashes(key, code), this.clock.now());
  }

  /** The number to which the code was sent, where one code says so beyond doubt. */
  async guessNumber(key: Pick<SmsCodeKey, 'appId' | 'purpose'>, code: string): Promise<string | undefined> {
    const hashes = this.numberlessHashes(key, code);
    return this.database.transaction((tx) => this.repository.guessNumber(tx, key, hashes, this.clock.now()));
  }

  /** What the stored hash may be; the first one is stored. */
  private hashes({ appId, purpose, mobilePhoneNumber, userId = '' }: SmsCodeKey, code: string): readonly Buffer[] {
    return this.sealer.lookupHashes(JSON.stringify(['sms code', appId, purpose, mobilePhoneNumber, userId, code]));
  }

  private numberlessHashes({ appId, purpose }: Pick<SmsCodeKey, 'appId' | 'purpose'>, code: string): readonly Buffer[] {
    return this.sealer.lookupHashes(JSON.stringify(['numberless sms code', appId, purpose, code]));
  }
}

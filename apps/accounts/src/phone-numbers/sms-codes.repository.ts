import { Injectable } from '@nestjs/common';
import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { CodePurpose } from '#contracts';
import { cleanUp, Database, type Queryable, TimeColumn, type Tx } from '#database';
import { ApplicationEntity } from '../applications/applications.repository.js';

@Entity('sms_codes')
@ForeignKey(() => ApplicationEntity, ['appId'], ['id'], { name: 'sms_codes_app_id_fkey' })
@Index('sms_codes_expires_at_idx', ['expiresAt'])
@Index('sms_codes_numberless_guesses_idx', ['appId', 'purpose', 'numberlessGuessesBefore'], {
  where: 'numberless_hash IS NOT NULL',
})
@Index('sms_codes_numberless_hash_idx', ['appId', 'purpose', 'numberlessHash'], {
  where: 'numberless_hash IS NOT NULL',
})
export class SmsCodeEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  purpose!: string;

  @PrimaryColumn('text')
  mobilePhoneNumber!: string;

  @PrimaryColumn('text')
  userId!: string;

  @Column('bytea')
  codeHash!: Buffer;

  @Column('smallint', { default: 0 })
  wrongGuesses!: number;

  @TimeColumn()
  expiresAt!: Date;

  @Column('bytea', { nullable: true })
  numberlessHash!: Buffer | null;

  @Column('bigint', { nullable: true })
  numberlessGuessesBefore!: string | null;
}

@Entity('sms_numberless_guesses')
@ForeignKey(() => ApplicationEntity, ['appId'], ['id'], { name: 'sms_numberless_guesses_app_id_fkey' })
export class SmsNumberlessGuessEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  purpose!: string;

  @Column('bigint', { default: 0 })
  wrong!: string;
}

const MAX_WRONG_GUESSES = 5;
/** Wrong codes without a number, per application, after which codes that were sent earlier need their number. */
const MAX_NUMBERLESS_GUESSES = 10;
/** Expired rows that one new code deletes. */
const CLEANED_AT_ONCE = 20;

const keyOf = ({ appId, purpose, mobilePhoneNumber, userId = '' }: SmsCodeKey) => [
  appId,
  purpose,
  mobilePhoneNumber,
  userId,
];
const OF_KEY = 'app_id = $1 AND purpose = $2 AND mobile_phone_number = $3 AND user_id = $4';
const IS_SAME = 'codes.code_hash = ANY ($9) AND codes.expires_at > $8';

/** Codes that were sent to phone numbers. Single statements verify and redeem them, so concurrent requests cannot redeem a code twice. */
@Injectable()
export class SmsCodesRepository {
  constructor(private readonly database: Database) {}

  /** The same code again, as for a test number, keeps its wrong guesses: otherwise repeated requests would allow trying all codes. */
  async put(tx: Tx, row: SmsCodeRow, now: Date): Promise<void> {
    const { appId, purpose, hashes, numberlessHash = null, expiresAt } = row;
    if (numberlessHash !== null) {
      await tx.query(
        `INSERT INTO accounts.sms_numberless_guesses (app_id, purpose) VALUES ($1, $2)
         ON CONFLICT ON CONSTRAINT sms_numberless_guesses_pkey DO NOTHING`,
        [appId, purpose],
      );
    }
    await tx.query(
      `INSERT INTO accounts.sms_codes AS codes
         (app_id, purpose, mobile_phone_number, user_id, code_hash, expires_at, numberless_hash, numberless_guesses_before)
       VALUES ($1, $2, $3, $4, $5, $6, $7,
               (SELECT wrong FROM accounts.sms_numberless_guesses WHERE app_id = $1 AND purpose = $2))
       ON CONFLICT ON CONSTRAINT sms_codes_pkey DO UPDATE
         SET code_hash = EXCLUDED.code_hash, numberless_hash = EXCLUDED.numberless_hash,
             wrong_guesses = CASE WHEN ${IS_SAME} THEN codes.wrong_guesses ELSE 0 END,
             expires_at = CASE WHEN ${IS_SAME} AND codes.wrong_guesses >= ${MAX_WRONG_GUESSES}
                            THEN codes.expires_at ELSE EXCLUDED.expires_at END,
             numberless_guesses_before = CASE WHEN ${IS_SAME}
                            THEN codes.numberless_guesses_before ELSE EXCLUDED.numberless_guesses_before END`,
      [...keyOf(row), hashes[0], expiresAt, numberlessHash, now, hashes],
    );
  }

  /** Whether a valid code of the key has one of the hashes. A wrong guess counts, and the last allowed one invalidates the code. */
  async guess(
    key: SmsCodeKey,
    hashes: readonly Buffer[],
    now: Date,
    database: Queryable = this.database,
  ): Promise<boolean> {
    const [guessed] = await database.query<{ isRight: boolean }>(
      `UPDATE accounts.sms_codes SET wrong_guesses = wrong_guesses + (code_hash <> ALL ($5))::int
        WHERE ${OF_KEY} AND expires_at > $6 AND wrong_guesses < ${MAX_WRONG_GUESSES}
        RETURNING code_hash = ANY ($5) AS "isRight"`,
      [...keyOf(key), hashes, now],
    );
    return guessed?.isRight ?? false;
  }

  async redeem(tx: Tx, key: SmsCodeKey, hashes: readonly Buffer[], now: Date): Promise<boolean> {
    const redeemed = await tx.query(
      `DELETE FROM accounts.sms_codes
        WHERE ${OF_KEY} AND code_hash = ANY ($5) AND expires_at > $6 AND wrong_guesses < ${MAX_WRONG_GUESSES}
        RETURNING purpose`,
      [...keyOf(key), hashes, now],
    );
    return redeemed.length > 0;
  }

  /** A wrong guess counts against every code of the application and purpose that could match; if none can, it changes nothing. */
  async guessNumber(
    tx: Tx,
    { appId, purpose }: Pick<SmsCodeKey, 'appId' | 'purpose'>,
    hashes: readonly Buffer[],
    now: Date,
  ): Promise<string | undefined> {
    const guessable = `codes.app_id = $1 AND codes.purpose = $2 AND codes.numberless_hash IS NOT NULL AND codes.expires_at > $3
      AND codes.wrong_guesses < ${MAX_WRONG_GUESSES}`;
    // This row serializes guesses; the condition is checked again after a wait.
    const [guesses] = await tx.query<{ wrong: string }>(
      `SELECT guesses.wrong FROM accounts.sms_numberless_guesses AS guesses
        WHERE guesses.app_id = $1 AND guesses.purpose = $2 AND EXISTS (
          SELECT 1 FROM accounts.sms_codes AS codes
           WHERE ${guessable} AND codes.numberless_guesses_before > guesses.wrong - ${MAX_NUMBERLESS_GUESSES})
          FOR UPDATE OF guesses`,
      [appId, purpose, now],
    );
    if (guesses === undefined) return undefined;
    const found = await tx.query<{ number: string }>(
      `SELECT codes.mobile_phone_number AS number FROM accounts.sms_codes AS codes
        WHERE ${guessable} AND codes.numberless_guesses_before > $5 - ${MAX_NUMBERLESS_GUESSES}
          AND codes.numberless_hash = ANY ($4) LIMIT 2`,
      [appId, purpose, now, hashes, guesses.wrong],
    );
    // Two numbers with the same code are ambiguous.
    if (found.length === 1) return found[0]?.number;
    await tx.query('UPDATE accounts.sms_numberless_guesses SET wrong = wrong + 1 WHERE app_id = $1 AND purpose = $2', [
      appId,
      purpose,
    ]);
    return undefined;
  }

  async removeExpired(tx: Tx, now: Date): Promise<void> {
    const expired = { table: 'accounts.sms_codes', where: 'expires_at <= $1', values: [now], orderBy: 'expires_at' };
    await cleanUp(tx, { ...expired, limit: CLEANED_AT_ONCE });
  }
}

/** A code is valid for this binding only, and replaces the previous one with it. */
export interface SmsCodeKey {
  readonly appId: string;
  readonly purpose: CodePurpose;
  readonly mobilePhoneNumber: string;
  /** The only user who may redeem it; absent where the owner of the number may. */
  readonly userId?: string;
}

export interface SmsCodeRow extends SmsCodeKey {
  /** The hash with each accepted secret; the first one is stored. */
  readonly hashes: readonly Buffer[];
  /** Finds a code that is sent without its number; absent where the number is required. */
  readonly numberlessHash?: Buffer | undefined;
  readonly expiresAt: Date;
}

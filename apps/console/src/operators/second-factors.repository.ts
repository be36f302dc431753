import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';
import { appError } from '#errors';
import { ConsoleDatabase } from '../console.database.js';

const CHALLENGE_TIME = '5 minutes';
const MAX_PASSKEYS = 20;

export interface FactorOwner {
  readonly id: string;
  readonly sessionId: string;
}

export interface StoredPasskey {
  readonly id: string;
  readonly operatorId: string;
  readonly publicKey: Buffer;
  readonly counter: number;
}

type NewPasskey = Omit<StoredPasskey, 'operatorId'> & { readonly name: string; readonly transports: readonly string[] };

export interface ListedPasskey {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

export interface FactorsRow {
  readonly hasCodes: boolean;
  readonly recoveryCodes: number;
  readonly passkeys: readonly ListedPasskey[];
}

/** One-time codes, recovery codes, passkeys and challenges. A single statement decides each use. */
@Injectable()
export class SecondFactorsRepository {
  constructor(private readonly database: ConsoleDatabase) {}

  async list(operatorId: string): Promise<FactorsRow> {
    const [counts] = await this.database.query<{ hasCodes: boolean; recoveryCodes: number }>(
      `SELECT EXISTS (SELECT FROM console.one_time_codes WHERE operator_id = $1 AND is_confirmed) AS "hasCodes",
              (SELECT count(*)::int FROM console.recovery_codes WHERE operator_id = $1) AS "recoveryCodes"`,
      [operatorId],
    );
    const passkeys = await this.database.query<ListedPasskey>(
      `SELECT id, name, created_at AS "createdAt", last_used_at AS "lastUsedAt"
         FROM console.passkeys WHERE operator_id = $1 ORDER BY created_at, id`,
      [operatorId],
    );
    return { hasCodes: counts?.hasCodes ?? false, recoveryCodes: counts?.recoveryCodes ?? 0, passkeys };
  }

  /** Of the one-time codes in use, or of unconfirmed new ones. */
  async sealedSecret(operatorId: string, isConfirmed: boolean): Promise<string | undefined> {
    const [row] = await this.database.query<{ sealedSecret: string }>(
      `SELECT sealed_secret AS "sealedSecret" FROM console.one_time_codes WHERE operator_id = $1 AND is_confirmed = $2`,
      [operatorId, isConfirmed],
    );
    return row?.sealedSecret;
  }

  /** Codes in use stay until the new ones are confirmed. @throws AppError UNAUTHORIZED if the session has ended */
  async beginCodes(owner: FactorOwner, sealedSecret: string): Promise<void> {
    await this.#asOwner(owner, (tx) =>
      tx.query(
        `INSERT INTO console.one_time_codes (operator_id, is_confirmed, sealed_secret) VALUES ($1, false, $2)
         ON CONFLICT ON CONSTRAINT one_time_codes_pkey DO UPDATE SET sealed_secret = $2`,
        [owner.id, sealedSecret],
      ),
    );
  }

  /** @param recoveryCodes for an operator without any @returns whether they were stored @throws AppError UNAUTHORIZED, or SECOND_FACTOR_MISMATCH */
  async confirmCodes(
    owner: FactorOwner,
    { sealedSecret, step }: { readonly sealedSecret: string; readonly step: number },
    recoveryCodes: readonly string[],
  ): Promise<boolean> {
    return this.#asOwner(owner, async (tx) => {
      const begun = await tx.query(
        'SELECT 1 FROM console.one_time_codes WHERE operator_id = $1 AND NOT is_confirmed AND sealed_secret = $2',
        [owner.id, sealedSecret],
      );
      if (begun.length === 0) throw appError('SECOND_FACTOR_MISMATCH');
      await tx.query('DELETE FROM console.one_time_codes WHERE operator_id = $1 AND is_confirmed', [owner.id]);
      await tx.query('UPDATE console.one_time_codes SET is_confirmed = true, last_step = $2 WHERE operator_id = $1', [
        owner.id,
        step,
      ]);
      return addFirstRecoveryCodes(tx, owner.id, recoveryCodes);
    });
  }

  /** @returns false if the code of this step, or a later one, was used */
  async useStep(operatorId: string, step: number): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE console.one_time_codes SET last_step = $2
        WHERE operator_id = $1 AND is_confirmed AND (last_step IS NULL OR last_step < $2) RETURNING 1`,
      [operatorId, step],
    );
    return rows.length > 0;
  }

  /** @throws AppError UNAUTHORIZED, or NO_EFFECT without a second factor */
  async setRecoveryCodes(owner: FactorOwner, codes: readonly string[]): Promise<void> {
    await this.#asOwner(owner, async (tx) => {
      if (!(await hasFactor(tx, owner.id))) throw appError('NO_EFFECT', { message: 'Add a second factor first.' });
      await tx.query('DELETE FROM console.recovery_codes WHERE operator_id = $1', [owner.id]);
      await addFirstRecoveryCodes(tx, owner.id, codes);
    });
  }

  async useRecoveryCode(operatorId: string, code: string): Promise<boolean> {
    const rows = await this.database.query(
      'DELETE FROM console.recovery_codes WHERE operator_id = $1 AND code_hash = $2 RETURNING 1',
      [operatorId, hashOf(code)],
    );
    return rows.length > 0;
  }

  /** As `confirmCodes`. @throws AppError UNAUTHORIZED, or NO_EFFECT if the passkey is registered, or the operator has 20 */
  async addPasskey(
    owner: FactorOwner,
    { transports, ...passkey }: NewPasskey,
    recoveryCodes: readonly string[],
  ): Promise<boolean> {
    return this.#asOwner(owner, async (tx) => {
      const rows = await tx.query(
        `INSERT INTO console.passkeys (id, operator_id, name, public_key, counter, transports)
         SELECT $1, $2, $3, $4, $5, $6
          WHERE (SELECT count(*) FROM console.passkeys WHERE operator_id = $2) < ${MAX_PASSKEYS}
         ON CONFLICT ON CONSTRAINT passkeys_pkey DO NOTHING RETURNING 1`,
        [passkey.id, owner.id, passkey.name, passkey.publicKey, passkey.counter, transports],
      );
      if (rows.length === 0)
        throw appError('NO_EFFECT', {
          message: `This passkey is registered, or you have ${MAX_PASSKEYS}. Remove one first.`,
        });
      return addFirstRecoveryCodes(tx, owner.id, recoveryCodes);
    });
  }

  /** Undefined if the operator cannot sign in. */
  async passkey(id: string): Promise<StoredPasskey | undefined> {
    const [row] = await this.database.query<StoredPasskey>(
      // A counter is an unsigned 32-bit number.
      `SELECT p.id, p.operator_id AS "operatorId", p.public_key AS "publicKey", p.counter::float8 AS counter
         FROM console.passkeys p JOIN console.operators o ON o.id = p.operator_id
        WHERE p.id = $1 AND NOT o.is_disabled`,
      [id],
    );
    return row;
  }

  /** @returns the operator with the password's hash of this moment; undefined if the counter has not grown (a copied passkey), or the operator cannot sign in */
  async usePasskey(id: string, counter: number): Promise<{ id: string; passwordHash: string } | undefined> {
    const [row] = await this.database.query<{ id: string; passwordHash: string }>(
      `UPDATE console.passkeys p SET counter = $2, last_used_at = now() FROM console.operators o
        WHERE p.id = $1 AND (p.counter < $2 OR (p.counter = 0 AND $2 = 0))
          AND o.id = p.operator_id AND o.password_hash IS NOT NULL AND NOT o.is_disabled
        RETURNING o.id, o.password_hash AS "passwordHash"`,
      [id, counter],
    );
    return row;
  }

  /** @param keepsOne whether one factor has to remain @throws AppError UNAUTHORIZED, NOT_FOUND, or SECOND_FACTOR_MISSING for the last one */
  async remove(owner: FactorOwner, which: { readonly passkeyId?: string }, keepsOne: boolean): Promise<void> {
    await this.#asOwner(owner, async (tx) => {
      const removed =
        which.passkeyId === undefined
          ? await tx.query('DELETE FROM console.one_time_codes WHERE operator_id = $1 AND is_confirmed RETURNING 1', [
              owner.id,
            ])
          : await tx.query('DELETE FROM console.passkeys WHERE operator_id = $1 AND id = $2 RETURNING 1', [
              owner.id,
              which.passkeyId,
            ]);
      if (removed.length === 0) throw appError('NOT_FOUND', { message: 'There is no such second factor.' });
      if (await hasFactor(tx, owner.id)) return;
      if (keepsOne)
        throw appError('SECOND_FACTOR_MISSING', { message: 'One second factor stays. Add another one first.' });
      await tx.query('DELETE FROM console.recovery_codes WHERE operator_id = $1', [owner.id]);
    });
  }

  async addChallenge(challenge: string, operatorId: string | null, time = CHALLENGE_TIME): Promise<void> {
    await this.database.query(
      'INSERT INTO console.challenges (challenge_hash, operator_id, ends_at) VALUES ($1, $2, now() + $3::interval)',
      [hashOf(challenge), operatorId, time],
    );
  }

  /** @returns false if the challenge has another purpose, was used, or has ended */
  async useChallenge(challenge: string, operatorId: string | null): Promise<boolean> {
    const rows = await this.database.query(
      `DELETE FROM console.challenges
        WHERE challenge_hash = $1 AND operator_id IS NOT DISTINCT FROM $2 AND ends_at > now() RETURNING 1`,
      [hashOf(challenge), operatorId],
    );
    return rows.length > 0;
  }

  #asOwner<T>(owner: FactorOwner, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.database.transaction(async (tx) => {
      await lockOwner(tx, owner);
      return work(tx);
    });
  }
}

/** Serializes changes of how one operator signs in: a session that one of them has ended changes nothing any more. @throws AppError UNAUTHORIZED */
export async function lockOwner(tx: Tx, { id, sessionId }: FactorOwner): Promise<void> {
  await tx.query('SELECT FROM console.operators WHERE id = $1 FOR NO KEY UPDATE', [id]);
  const sessions = await tx.query('SELECT 1 FROM console.sessions WHERE id = $1 AND operator_id = $2', [sessionId, id]);
  if (sessions.length === 0) throw appError('UNAUTHORIZED', { message: 'Sign in first.' });
}

export const HAS_FACTOR = (id: string): string => `(
  EXISTS (SELECT FROM console.one_time_codes c WHERE c.operator_id = ${id} AND c.is_confirmed)
  OR EXISTS (SELECT FROM console.passkeys p WHERE p.operator_id = ${id}))`;

async function hasFactor(tx: Tx, operatorId: string): Promise<boolean> {
  return (await tx.query(`SELECT 1 WHERE ${HAS_FACTOR('$1::uuid')}`, [operatorId])).length > 0;
}

/** @returns false if the operator has recovery codes */
async function addFirstRecoveryCodes(tx: Tx, operatorId: string, codes: readonly string[]): Promise<boolean> {
  const rows = await tx.query(
    `INSERT INTO console.recovery_codes (operator_id, code_hash) SELECT $1, * FROM unnest($2::bytea[])
      WHERE NOT EXISTS (SELECT FROM console.recovery_codes WHERE operator_id = $1) RETURNING 1`,
    [operatorId, codes.map(hashOf)],
  );
  return rows.length > 0;
}

export function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

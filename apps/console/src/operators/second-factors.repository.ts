import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Queryable } from '#database';
import { appError } from '#errors';
import { ConsoleDatabase } from '../console.database.js';

const CHALLENGE_TIME = '5 minutes';

/** The one-time codes of an operator. */
interface StoredCodes {
  readonly sealedSecret: string;
  readonly isConfirmed: boolean;
}

/** A passkey with what a proof is checked against. */
export interface StoredPasskey {
  readonly id: string;
  readonly operatorId: string;
  readonly publicKey: Buffer;
  readonly counter: number;
  readonly transports: readonly string[];
}

/** A passkey as its operator sees it. */
export interface ListedPasskey {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

/** The second factors that an operator has. */
export interface FactorsRow {
  readonly hasCodes: boolean;
  readonly recoveryCodes: number;
  readonly passkeys: readonly ListedPasskey[];
}

/** One-time codes, recovery codes, passkeys and the challenges of authenticators. One statement decides each use. */
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

  async codes(operatorId: string): Promise<StoredCodes | undefined> {
    const [row] = await this.database.query<StoredCodes>(
      `SELECT sealed_secret AS "sealedSecret", is_confirmed AS "isConfirmed"
         FROM console.one_time_codes WHERE operator_id = $1`,
      [operatorId],
    );
    return row;
  }

  /** Replaces a secret that is not confirmed. @throws AppError NO_EFFECT where the operator has one-time codes */
  async beginCodes(operatorId: string, sealedSecret: string): Promise<void> {
    const rows = await this.database.query(
      `INSERT INTO console.one_time_codes AS c (operator_id, sealed_secret) VALUES ($1, $2)
       ON CONFLICT ON CONSTRAINT one_time_codes_pkey DO UPDATE SET sealed_secret = $2 WHERE NOT c.is_confirmed
       RETURNING 1`,
      [operatorId, sealedSecret],
    );
    if (rows.length === 0) throw appError('NO_EFFECT', { message: 'Remove the one-time codes first.' });
  }

  /** Confirms the secret by its first code. @returns false where another request was faster */
  async confirmCodes(operatorId: string, sealedSecret: string, step: number): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE console.one_time_codes SET is_confirmed = true, last_step = $3
        WHERE operator_id = $1 AND sealed_secret = $2 AND NOT is_confirmed RETURNING 1`,
      [operatorId, sealedSecret, step],
    );
    return rows.length > 0;
  }

  /** Uses the code of a time step. @returns false where that code, or a later one, was used */
  async useStep(operatorId: string, step: number): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE console.one_time_codes SET last_step = $2
        WHERE operator_id = $1 AND is_confirmed AND (last_step IS NULL OR last_step < $2) RETURNING 1`,
      [operatorId, step],
    );
    return rows.length > 0;
  }

  /** Replaces all recovery codes. */
  async setRecoveryCodes(operatorId: string, codes: readonly string[]): Promise<void> {
    await this.database.transaction(async (tx) => {
      await lockOperator(tx, operatorId);
      await tx.query('DELETE FROM console.recovery_codes WHERE operator_id = $1', [operatorId]);
      await tx.query(
        'INSERT INTO console.recovery_codes (operator_id, code_hash) SELECT $1, * FROM unnest($2::bytea[])',
        [operatorId, codes.map(hashOf)],
      );
    });
  }

  /** @returns false where the code is not one of the operator's, or was used */
  async useRecoveryCode(operatorId: string, code: string): Promise<boolean> {
    const rows = await this.database.query(
      'DELETE FROM console.recovery_codes WHERE operator_id = $1 AND code_hash = $2 RETURNING 1',
      [operatorId, hashOf(code)],
    );
    return rows.length > 0;
  }

  /** @throws AppError NO_EFFECT where the passkey is registered */
  async addPasskey({ transports, ...passkey }: StoredPasskey, name: string): Promise<void> {
    const rows = await this.database.query(
      `INSERT INTO console.passkeys (id, operator_id, name, public_key, counter, transports)
       VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT ON CONSTRAINT passkeys_pkey DO NOTHING RETURNING 1`,
      [passkey.id, passkey.operatorId, name, passkey.publicKey, passkey.counter, transports],
    );
    if (rows.length === 0) throw appError('NO_EFFECT', { message: 'This passkey is already registered.' });
  }

  /** A passkey of an operator who can sign in. */
  async passkey(id: string): Promise<StoredPasskey | undefined> {
    const [row] = await this.database.query<StoredPasskey>(
      `SELECT p.id, p.operator_id AS "operatorId", p.public_key AS "publicKey", p.counter::int AS counter, p.transports
         FROM console.passkeys p JOIN console.operators o ON o.id = p.operator_id
        WHERE p.id = $1 AND NOT o.is_disabled`,
      [id],
    );
    return row;
  }

  /** @param counter as the authenticator says @returns false where the counter has not grown: the passkey may have been copied */
  async usePasskey(id: string, counter: number): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE console.passkeys SET counter = $2, last_used_at = now()
        WHERE id = $1 AND (counter < $2 OR (counter = 0 AND $2 = 0)) RETURNING 1`,
      [id, counter],
    );
    return rows.length > 0;
  }

  /**
   * Removes the one-time codes, or a passkey.
   * @param keepsOne whether one factor has to remain
   * @throws AppError NOT_FOUND, or SECOND_FACTOR_MISSING for the last one
   */
  async remove(operatorId: string, which: { readonly passkeyId?: string }, keepsOne: boolean): Promise<void> {
    await this.database.transaction(async (tx) => {
      // Of two removals at once, the second one sees what the first one has left.
      await lockOperator(tx, operatorId);
      const removed =
        which.passkeyId === undefined
          ? await tx.query('DELETE FROM console.one_time_codes WHERE operator_id = $1 RETURNING 1', [operatorId])
          : await tx.query('DELETE FROM console.passkeys WHERE operator_id = $1 AND id = $2 RETURNING 1', [
              operatorId,
              which.passkeyId,
            ]);
      if (removed.length === 0) throw appError('NOT_FOUND', { message: 'There is no such second factor.' });
      const left = await tx.query(`SELECT 1 WHERE ${HAS_FACTOR('$1::uuid')}`, [operatorId]);
      if (left.length > 0) return;
      if (keepsOne)
        throw appError('SECOND_FACTOR_MISSING', { message: 'One second factor stays. Add another one first.' });
      await tx.query('DELETE FROM console.recovery_codes WHERE operator_id = $1', [operatorId]);
    });
  }

  async addChallenge(challenge: string, operatorId: string | null): Promise<void> {
    await this.database.query(
      `INSERT INTO console.challenges (challenge_hash, operator_id, ends_at)
       VALUES ($1, $2, now() + interval '${CHALLENGE_TIME}')`,
      [hashOf(challenge), operatorId],
    );
  }

  /** Uses up a challenge. @returns false where it was made for another purpose, was used, or has ended */
  async useChallenge(challenge: string, operatorId: string | null): Promise<boolean> {
    const rows = await this.database.query(
      `DELETE FROM console.challenges
        WHERE challenge_hash = $1 AND operator_id IS NOT DISTINCT FROM $2 AND ends_at > now() RETURNING 1`,
      [hashOf(challenge), operatorId],
    );
    return rows.length > 0;
  }
}

/** SQL: whether the operator with this id has a second factor. */
export const HAS_FACTOR = (id: string): string => `(
  EXISTS (SELECT FROM console.one_time_codes c WHERE c.operator_id = ${id} AND c.is_confirmed)
  OR EXISTS (SELECT FROM console.passkeys p WHERE p.operator_id = ${id}))`;

async function lockOperator(tx: Queryable, operatorId: string): Promise<void> {
  await tx.query('SELECT FROM console.operators WHERE id = $1 FOR UPDATE', [operatorId]);
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { violatedUniqueConstraint } from '#database';
import { appError } from '#errors';
import { CONSOLE_CONFIG, type ConsoleConfig } from '../console.config.js';
import { ConsoleDatabase } from '../console.database.js';
import { ATTEMPT_WINDOW_MS, hasPowers, type OperatorRow } from './operator.rules.js';
import { addressKey, CREDENTIAL_TAGS, OPERATOR_COLUMNS } from './operators.repository.js';
import { hashOf } from './second-factors.repository.js';

/** A session is marked as used at most once within this time. */
const MARK_USED_SECONDS = 60;

export interface Browser {
  readonly network: string;
  readonly name: string;
}

interface SessionQuery {
  readonly by?: 'id' | 'token_hash';
  readonly isUsed?: boolean;
  /** Then the session must be this operator's. */
  readonly operatorId?: string | undefined;
}

export interface SessionRow extends OperatorRow {
  readonly sessionId: string;
  readonly sessionCreatedAt: Date;
  readonly usedAt: Date;
  readonly endsAt: Date;
  readonly provenAt: Date | null;
  /** The OpenID Connect issuer is then responsible for second factors. */
  readonly isByIssuer: boolean;
  /** The role needs a second factor, and the operator has none. */
  readonly needsSecondFactor: boolean;
}

export type LinkKind = 'invitation' | 'recovery' | 'setUp';

interface LinkRow {
  readonly kind: LinkKind;
  readonly name: string | null;
  readonly address: string | null;
  readonly endsAt: Date;
}

/** All tokens are stored as SHA-256. */
@Injectable()
export class SignInRepository {
  readonly #idle: string;
  readonly #total: string;

  constructor(
    private readonly database: ConsoleDatabase,
    @Inject(CONSOLE_CONFIG) private readonly config: ConsoleConfig,
  ) {
    this.#idle = `${config.sessionIdleSeconds} seconds`;
    this.#total = `${config.sessionSeconds} seconds`;
  }

  /** @param credential as in `CREDENTIAL_TAGS`; the session counts as long as the operator has it @param provenAt undefined: now @returns the token */
  async createSession(
    operatorId: string,
    credential: string,
    { network, name }: Browser,
    provenAt?: Date | null,
  ): Promise<string> {
    const token = newToken();
    await this.database.query(
      `WITH seen AS (UPDATE console.operators SET last_seen_at = now() WHERE id = $2)
       INSERT INTO console.sessions (token_hash, operator_id, ends_at, proven_at, network, browser, password_tag)
       VALUES ($1, $2, now() + $3::interval, CASE WHEN $7 THEN now() ELSE $8::timestamptz END, $4, $5,
               sha256(convert_to($6, 'UTF8')))`,
      [hashOf(token), operatorId, this.#total, network, name, credential, provenAt === undefined, provenAt ?? null],
    );
    return token;
  }

  /** The session of a token, or of an id, with its operator; undefined where it has ended. `isUsed` prolongs it. */
  async findSession(
    key: string,
    { by = 'token_hash', isUsed = true, operatorId }: SessionQuery = {},
  ): Promise<SessionRow | undefined> {
    const [row] = await this.database.query<Omit<SessionRow, 'needsSecondFactor'>>(
      `WITH used AS (
         UPDATE console.sessions SET used_at = now()
          WHERE $5 AND ${by} = $1 AND operator_id::text = COALESCE($6, operator_id::text) AND used_at < now() - interval '${MARK_USED_SECONDS} seconds'
            AND used_at > now() - $2::interval AND ends_at > now())
       SELECT ${OPERATOR_COLUMNS}, s.id AS "sessionId", s.created_at AS "sessionCreatedAt", s.used_at AS "usedAt",
              least(s.ends_at, (CASE WHEN $5 THEN now() ELSE s.used_at END + $2::interval)::timestamptz(3)) AS "endsAt", s.proven_at AS "provenAt",
              COALESCE(s.password_tag = ${CREDENTIAL_TAGS.issuer}, false) AS "isByIssuer"
         FROM console.sessions s JOIN console.operators o ON o.id = s.operator_id
        WHERE s.${by} = $1 AND o.id::text = COALESCE($6, o.id::text) AND s.ends_at > now() AND s.used_at > now() - $2::interval AND NOT o.is_disabled
          AND (($3 AND s.password_tag = ${CREDENTIAL_TAGS.password}) OR (o.oidc_issuer = $4 AND s.password_tag = ${CREDENTIAL_TAGS.issuer}))`,
      [
        by === 'id' ? key : hashOf(key),
        this.#idle,
        this.config.passwords,
        this.config.oidc?.issuer,
        isUsed,
        operatorId,
      ],
    );
    if (row === undefined) return undefined;
    const hasFactor = row.hasSecondFactor || row.isByIssuer;
    return { ...row, needsSecondFactor: this.config.secondFactor === 'required' && !hasFactor && hasPowers(row) };
  }

  /** Changes the token, so that a token stolen before has no proof. */
  async proveSession(sessionId: string): Promise<string> {
    const token = newToken();
    await this.database.query('UPDATE console.sessions SET token_hash = $2, proven_at = now() WHERE id = $1', [
      sessionId,
      hashOf(token),
    ]);
    return token;
  }

  listSessions(
    operatorId: string,
  ): Promise<{ id: string; createdAt: Date; usedAt: Date; endsAt: Date; network: string; browser: string }[]> {
    return this.database.query(
      `SELECT id, created_at AS "createdAt", used_at AS "usedAt", network, browser,
              least(ends_at, (used_at + $2::interval)::timestamptz(3)) AS "endsAt"
         FROM console.sessions
        WHERE operator_id = $1 AND ends_at > now() AND used_at > now() - $2::interval
        ORDER BY used_at DESC LIMIT 100`,
      [operatorId, this.#idle],
    );
  }

  async endSession(operatorId: string, sessionId: string): Promise<boolean> {
    const rows = await this.database.query(
      'DELETE FROM console.sessions WHERE operator_id = $1 AND id = $2 RETURNING 1',
      [operatorId, sessionId],
    );
    return rows.length > 0;
  }

  async endSessions(operatorId: string, keptId?: string): Promise<number> {
    const rows = await this.database.query(
      'DELETE FROM console.sessions WHERE operator_id = $1 AND id IS DISTINCT FROM $2 RETURNING 1',
      [operatorId, keptId ?? null],
    );
    return rows.length;
  }

  /** Ends the other sessions and the links. @param before the stored hash that was compared @throws AppError PASSWORD_MISMATCH if it has changed */
  async setPassword(
    operatorId: string,
    { before, after, keptSessionId }: { before: string; after: string; keptSessionId: string },
  ): Promise<void> {
    const rows = await this.database.query(
      `WITH changed AS (
         UPDATE console.operators SET password_hash = $2
          WHERE id = $1 AND password_hash = $4 AND EXISTS (SELECT 1 FROM console.sessions WHERE id = $3) RETURNING id),
       kept AS (
         UPDATE console.sessions SET password_tag = sha256(convert_to($2, 'UTF8'))
          WHERE id = $3 AND operator_id IN (SELECT id FROM changed)
            AND password_tag = sha256(convert_to($4, 'UTF8'))),
       ended AS (DELETE FROM console.sessions WHERE operator_id IN (SELECT id FROM changed) AND id <> $3),
       outdated AS (DELETE FROM console.links WHERE operator_id IN (SELECT id FROM changed))
       SELECT id FROM changed`,
      [operatorId, after, keptSessionId, before],
    );
    if (rows.length === 0) throw appError('PASSWORD_MISMATCH', { message: 'The password has changed meanwhile.' });
  }

  /** Earlier links of the operator, or for the set-up, end. */
  async createLink(
    kind: LinkKind,
    operatorId: string | null,
    seconds: number,
  ): Promise<{ token: string; endsAt: Date }> {
    const token = newToken();
    const endsAt = await this.database.transaction(async (tx) => {
      // Serialized: each sees the links that the previous one has inserted.
      await tx.lockName(`console link ${operatorId ?? ''}`);
      await tx.query('DELETE FROM console.links WHERE operator_id IS NOT DISTINCT FROM $1', [operatorId]);
      const [row] = await tx.query<{ endsAt: Date }>(
        `INSERT INTO console.links (token_hash, kind, operator_id, ends_at)
         VALUES ($1, $2, $3, now() + $4::interval) RETURNING ends_at AS "endsAt"`,
        [hashOf(token), kind, operatorId, `${seconds} seconds`],
      );
      return row?.endsAt ?? new Date(0);
    });
    return { token, endsAt };
  }

  /** Undefined if the link was used, or has ended. */
  async findLink(token: string): Promise<LinkRow | undefined> {
    const [row] = await this.database.query<LinkRow>(
      `SELECT l.kind, l.ends_at AS "endsAt", o.name, o.address
         FROM console.links l LEFT JOIN console.operators o ON o.id = l.operator_id
        WHERE l.token_hash = $1 AND l.used_at IS NULL AND l.ends_at > now()`,
      [hashOf(token)],
    );
    return row;
  }

  /** The index `operators_first_key` decides between two links. @throws AppError LINK_EXPIRED */
  async createFirstOwner(
    token: string,
    { name, address, passwordHash }: { name: string; address: string; passwordHash: string },
  ): Promise<string> {
    const rows = await this.database
      .query<{ id: string }>(
        `WITH used AS (
           UPDATE console.links SET used_at = now()
            WHERE token_hash = $1 AND kind = 'setUp' AND used_at IS NULL AND ends_at > now()
              AND NOT EXISTS (SELECT 1 FROM console.operators WHERE is_owner) RETURNING 1)
         INSERT INTO console.operators (name, address, password_hash, is_owner, is_first)
         SELECT $2, $3, $4, true, true FROM used RETURNING id`,
        [hashOf(token), name, addressKey(address), passwordHash],
      )
      .catch((error: unknown) => {
        if (violatedUniqueConstraint(error) === undefined) throw error;
        return [];
      });
    return onlyId(rows);
  }

  /** Locks the operator first: a change by an old session is then seen here, or refused because its session has ended. @throws AppError LINK_EXPIRED */
  async useLink(token: string, passwordHash: string, name: string | undefined): Promise<string> {
    return this.database.transaction(async (tx) => {
      await tx.query(
        `SELECT FROM console.operators
          WHERE id = (SELECT operator_id FROM console.links WHERE token_hash = $1) FOR NO KEY UPDATE`,
        [hashOf(token)],
      );
      const rows = await tx.query<{ id: string }>(
        `WITH used AS (
           UPDATE console.links SET used_at = now()
            WHERE token_hash = $1 AND kind IN ('invitation', 'recovery') AND used_at IS NULL AND ends_at > now()
            RETURNING operator_id),
         ended AS (DELETE FROM console.sessions WHERE operator_id IN (SELECT operator_id FROM used)),
         codes AS (DELETE FROM console.one_time_codes WHERE operator_id IN (SELECT operator_id FROM used)),
         recovery AS (DELETE FROM console.recovery_codes WHERE operator_id IN (SELECT operator_id FROM used)),
         keys AS (DELETE FROM console.passkeys WHERE operator_id IN (SELECT operator_id FROM used))
         UPDATE console.operators SET password_hash = $2, name = COALESCE($3, name),
                oidc_issuer = NULL, oidc_subject = NULL, grants_by_groups = false
          WHERE id IN (SELECT operator_id FROM used) AND NOT is_disabled RETURNING id`,
        [hashOf(token), passwordHash, name],
      );
      return onlyId(rows);
    });
  }

  /** Of concurrent attempts, at most `limit` within the window succeed. @returns the time, for `releaseAttempt`; undefined at the limit */
  async reserveAttempt(key: string, limit: number): Promise<string | undefined> {
    const window = `${ATTEMPT_WINDOW_MS} milliseconds`;
    const [row] = await this.database.query<{ reservedAt: string }>(
      `INSERT INTO console.attempts AS a (key, times) VALUES ($1, ARRAY[clock_timestamp()])
       ON CONFLICT ON CONSTRAINT attempts_pkey DO UPDATE
          SET times = array_append(ARRAY(SELECT t FROM unnest(a.times) t WHERE t > now() - $3::interval ORDER BY t),
                                   clock_timestamp()),
              changed_at = now()
        WHERE (SELECT count(*) FROM unnest(a.times) t WHERE t > now() - $3::interval) < $2
       RETURNING a.times[array_upper(a.times, 1)]::text AS "reservedAt"`,
      [key, limit, window],
    );
    return row?.reservedAt;
  }

  async releaseAttempt(key: string, reservedAt: string): Promise<void> {
    await this.database.query(
      'UPDATE console.attempts SET times = array_remove(times, $2::timestamptz) WHERE key = $1',
      [key, reservedAt],
    );
  }

  async forgetAttempts(key: string): Promise<void> {
    await this.database.query('DELETE FROM console.attempts WHERE key = $1', [key]);
  }

  async attempts(keys: readonly string[]): Promise<ReadonlyMap<string, readonly Date[]>> {
    const rows = await this.database.query<{ key: string; times: Date[] }>(
      'SELECT key, times FROM console.attempts WHERE key = ANY($1)',
      [keys],
    );
    return new Map(rows.map(({ key, times }) => [key, times]));
  }
}

function newToken(): string {
  return randomBytes(32).toString('base64url');
}

function onlyId([row]: readonly { readonly id: string }[]): string {
  if (row === undefined) throw appError('LINK_EXPIRED');
  return row.id;
}

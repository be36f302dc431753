import type { Database, Tx } from '#database';
import {
  type AttemptState,
  clear,
  expiryOf,
  type Lockout,
  type LockoutLimits,
  type LockoutPage,
  type LockoutStatus,
  type LockoutStore,
  type LockoutSubject,
  NO_ATTEMPTS,
  type Transition,
  release,
  reserve,
  type ReserveOutcome,
  settle,
  type SettleOutcome,
  stateAt,
  stateOf,
  type StoredLockout,
  storedOf,
  type AttemptResult,
} from './lockout.rules.js';

interface LockoutRow extends StoredLockout {
  /** The time of the database server. */
  readonly now: Date;
}

const COLUMNS = 'attempts, locked_until AS "lockedUntil", clock_timestamp() AS now';
/** Inserts a missing row and locks it until the transaction ends. The time is read after the lock. */
const LOCK = `
  INSERT INTO accounts.lockouts (app_id, user_id, attempts, expires_at) VALUES ($1, $2, $3, clock_timestamp())
  ON CONFLICT ON CONSTRAINT lockouts_pkey DO UPDATE SET user_id = excluded.user_id
  RETURNING ${COLUMNS}`;
const FIND = `SELECT ${COLUMNS} FROM accounts.lockouts WHERE app_id = $1 AND user_id = $2`;
const UPDATE = `
  UPDATE accounts.lockouts SET attempts = $3, locked_until = $4, expires_at = $5 WHERE app_id = $1 AND user_id = $2`;
const REMOVE = 'DELETE FROM accounts.lockouts WHERE app_id = $1 AND user_id = $2';
/** A transition adds one row at most, so the table shrinks to the unexpired rows. Rows that others have locked are skipped. */
const REMOVE_EXPIRED = `
  WITH expired AS MATERIALIZED (
    SELECT app_id, user_id FROM accounts.lockouts WHERE expires_at <= clock_timestamp()
     ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED)
  DELETE FROM accounts.lockouts USING expired
   WHERE lockouts.app_id = expired.app_id AND lockouts.user_id = expired.user_id`;
const LIST = `
  SELECT user_id AS "userId", locked_until AS "lockedUntil" FROM accounts.lockouts
   WHERE app_id = $1 AND locked_until > clock_timestamp() AND (locked_until, user_id) > ($2, $3)
   ORDER BY locked_until, user_id LIMIT $4`;

const LOCKS_OF = `
  SELECT user_id AS "userId", locked_until AS "lockedUntil" FROM accounts.lockouts
   WHERE app_id = $1 AND user_id = ANY ($2) AND locked_until > clock_timestamp()`;

/** The lockout store of the standalone server: a row for each user with recent failures or pending attempts. */
export class PostgresLockoutStore implements LockoutStore {
  constructor(
    private readonly database: Database,
    private readonly limits: LockoutLimits,
  ) {}

  async reserve(subject: LockoutSubject, id: string): Promise<ReserveOutcome> {
    // A flood of attempts on a locked user costs only this read.
    const remainingMs = await this.lockedForMs(subject);
    if (remainingMs > 0) return { kind: 'locked', remainingMs };
    return this.#transition(subject, (before, now) => reserve(before, id, now, this.limits));
  }

  async settle(subject: LockoutSubject, result: AttemptResult): Promise<SettleOutcome> {
    return this.#transition(subject, (before, now) => settle(before, result, now, this.limits));
  }

  async release(subject: LockoutSubject, id: string): Promise<void> {
    await this.#transition(subject, (before) => ({ state: release(before, id), outcome: undefined }));
  }

  async clear(subject: LockoutSubject): Promise<void> {
    await this.#transition(subject, (before) => ({ state: clear(before), outcome: undefined }));
  }

  async lockedForMs(subject: LockoutSubject): Promise<number> {
    const { state, nowMs } = await this.#read(subject);
    return state.lock === undefined ? 0 : state.lock.untilMs - nowMs;
  }

  async find(subject: LockoutSubject): Promise<LockoutStatus> {
    const { state } = await this.#read(subject);
    return state.lock === undefined
      ? { lockedUntil: undefined, failures: state.failures }
      : { lockedUntil: new Date(state.lock.untilMs), failures: state.lock.failures };
  }

  async list(appId: string, { limit, after }: LockoutPage): Promise<Lockout[]> {
    const cursor = [after?.lockedUntil ?? new Date(0), after?.userId ?? ''];
    return this.database.query<Lockout>(LIST, [appId, ...cursor, limit], 'lockouts.list');
  }

  async locksOf(appId: string, userIds: readonly string[]): Promise<Lockout[]> {
    return this.database.query<Lockout>(LOCKS_OF, [appId, userIds], 'lockouts.locksOf');
  }

  async #read({ appId, userId }: LockoutSubject): Promise<{ state: AttemptState; nowMs: number }> {
    const [row] = await this.database.query<LockoutRow>(FIND, [appId, userId], 'lockouts.find');
    if (row === undefined) return { state: NO_ATTEMPTS, nowMs: 0 };
    const nowMs = row.now.getTime();
    return { state: stateAt(stateOf(row), nowMs, this.limits), nowMs };
  }

  #transition<Outcome>(
    subject: LockoutSubject,
    decide: (before: AttemptState, nowMs: number) => Transition<Outcome>,
  ): Promise<Outcome> {
    return this.database.transaction(async (tx) => {
      const { appId, userId } = subject;
      const [row] = await tx.query<LockoutRow>(
        LOCK,
        [appId, userId, JSON.stringify(storedOf(NO_ATTEMPTS))],
        'lockouts.lock',
      );
      if (row === undefined) throw new Error('a locked row was not returned');
      const { state, outcome } = decide(stateOf(row), row.now.getTime());
      await this.#write(tx, subject, state);
      await tx.query(REMOVE_EXPIRED, [], 'lockouts.removeExpired');
      return outcome;
    });
  }

  async #write(tx: Tx, { appId, userId }: LockoutSubject, state: AttemptState): Promise<void> {
    const expiresAtMs = expiryOf(state, this.limits);
    if (expiresAtMs === undefined) {
      await tx.query(REMOVE, [appId, userId], 'lockouts.remove');
      return;
    }
    const lockedUntil = state.lock === undefined ? null : new Date(state.lock.untilMs);
    const values = [appId, userId, JSON.stringify(storedOf(state)), lockedUntil, new Date(expiresAtMs)];
    await tx.query(UPDATE, values, 'lockouts.update');
  }
}

import { randomUUID } from 'node:crypto';
import type { Database, Statement } from '#database';

/** Longer than a slow read and the broker's longest confirm together. A relay that dies keeps the others waiting for so long. */
const LEASE_MS = 10_000;

/**
 * The right to relay a schema's outbox: a row with its holder and an end. It belongs to no connection and no transaction, so it is
 * held while the broker confirms, also behind a pooler. Its table is unlogged: taking it costs no flush of the log, and after a
 * crash of PostgreSQL the row is missing, which means the same as an ended lease.
 */
export class OutboxLease {
  readonly #holder = randomUUID();
  #endsAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly database: Database,
    private readonly schema: string,
  ) {}

  /** False where the lease has ended meanwhile, by this process's own clock: another relay may have it. */
  get isHeld(): boolean {
    return performance.now() < this.#endsAtMs;
  }

  /** Takes or renews the lease where an event is due. @returns false where none is, or another relay holds the lease */
  async takeIfDue(): Promise<boolean> {
    const askedAtMs = performance.now();
    const taken = await this.database.query(
      `INSERT INTO ${this.schema}.outbox_lease AS lease (id, holder, held_until)
       SELECT 1, $1, clock_timestamp() + make_interval(secs => $2)
        WHERE EXISTS (SELECT 1 FROM ${this.schema}.outbox WHERE available_at <= now())
       ON CONFLICT ON CONSTRAINT outbox_lease_pkey DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
        WHERE lease.holder = excluded.holder OR lease.held_until <= clock_timestamp()
       RETURNING 1`,
      [this.#holder, LEASE_MS / 1_000],
      `${this.schema}.outbox.lease`,
    );
    if (taken.length > 0) this.#endsAtMs = askedAtMs + LEASE_MS;
    return taken.length > 0;
  }

  /** What ends the lease, to be run together with the last write under it. */
  release(): Statement {
    return {
      name: `${this.schema}.outbox.release`,
      text: `UPDATE ${this.schema}.outbox_lease SET held_until = '-infinity' WHERE holder = $1`,
      values: [this.#holder],
      afterCommit: () => {
        this.#endsAtMs = Number.NEGATIVE_INFINITY;
      },
    };
  }
}

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { abortableSleep, appError, Backoff, isAppError, messageOf, ServerAway } from '#errors';
import { RefusedEvent, type Transport } from '#messaging';
import { continueTrace, currentTraceparent, FailureLog, type Metrics } from '#observability';
import type { Database } from './database.js';
import { PollingWorker } from './polling-worker.js';
import { type Statement, combineStatements } from './statement.js';

/** Longer than a slow read plus the longest confirm. After the crash of a relay, other relays wait this long. */
const LEASE_MS = 10_000;

/** A row with its holder and an expiry, in an unlogged table: a row that is missing after a crash equals an expired lease (ADR 28). */
class OutboxLease {
  readonly #holder = randomUUID();
  #endsAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly database: Database,
    private readonly schema: string,
  ) {}

  /** False where the lease has expired by this process's clock: another relay may hold it. */
  get isHeld(): boolean {
    return performance.now() < this.#endsAtMs;
  }

  /** Takes or renews the lease where an event is due. @returns false where no event is due, or another relay holds the lease */
  async takeIfDue(): Promise<boolean> {
    const askedAtMs = performance.now();
    const renewed = await this.database.query(
      `INSERT INTO ${this.schema}.outbox_lease AS lease (id, holder, held_until)
       SELECT 1, $1, clock_timestamp() + make_interval(secs => $2)
        WHERE EXISTS (SELECT 1 FROM ${this.schema}.outbox WHERE available_at <= now())
       ON CONFLICT ON CONSTRAINT outbox_lease_pkey DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
        WHERE lease.holder = excluded.holder OR lease.held_until <= clock_timestamp()
       RETURNING 1`,
      [this.#holder, LEASE_MS / 1_000],
      `${this.schema}.outbox.lease`,
    );
    if (renewed.length > 0) this.#endsAtMs = askedAtMs + LEASE_MS;
    return renewed.length > 0;
  }

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

const BATCH_SIZE = 100;
/** Interval between the starts of two batches, in milliseconds, so that successive events share a batch. The first batch starts at once. */
const BATCH_INTERVAL_MS = 20;
/** Pause while the broker or the database is unavailable. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5_000;
const FIRST_RETRY_SECONDS = 1;
const LONGEST_RETRY_SECONDS = 300;
const MAX_COUNTED = 10_000;

interface OutboxRow {
  readonly id: string;
  readonly message_id: string;
  readonly pattern: string;
  readonly payload: unknown;
  readonly request_id: string | null;
  readonly traceparent: string | null;
}

interface BatchOutcome {
  readonly published: readonly string[];
  /** Not accepted now: the same events go first when the broker is available again. */
  readonly unavailable: readonly unknown[];
  readonly refused: readonly { readonly id: string; readonly reason: unknown }[];
}

/** `more`: another batch may be due. `idle`: there is nothing to relay here. */
type BatchEnd = 'more' | 'idle';

/** Moves committed events to the broker at least once, in the order of their ids; one relay per schema at a time, under a lease (ADR 28). */
export class OutboxRelay implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #logger = new Logger('Outbox');
  readonly #failures = new FailureLog(this.#logger, 'relaying events');
  readonly #lease: OutboxLease;
  readonly #stop = new AbortController();
  /** Also finds rows whose process crashed before it could relay them. */
  readonly #polling = new PollingWorker({ round: () => this.#round() });
  #idleBatchAtMs: number | undefined;
  readonly #backoff = new Backoff(LONGEST_PAUSE_MS, FIRST_PAUSE_MS);

  constructor(
    private readonly database: Database,
    private readonly transport: Pick<Transport, 'publishEvent' | 'problem'>,
    private readonly metrics: Metrics,
    private readonly schema: string,
  ) {
    this.#lease = new OutboxLease(database, schema);
  }

  onApplicationBootstrap(): void {
    const { outboxWaiting, outboxOldest } = this.metrics;
    this.metrics.sample({
      gauges: [outboxWaiting, outboxOldest],
      labels: { schema: this.schema },
      read: () => this.#reportWaiting(),
    });
    this.#polling.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.#stop.abort();
    await this.#polling.stop();
    await this.#releaseTurn();
  }

  wake(): void {
    this.#polling.wake();
  }

  async #round(): Promise<boolean> {
    if (this.#idleBatchAtMs !== undefined)
      await sleep(Math.max(0, this.#idleBatchAtMs + BATCH_INTERVAL_MS - performance.now()));
    if (this.#stop.signal.aborted) return false;
    const startedAtMs = performance.now();
    const end = await this.#relayBatch().catch((error: unknown) => this.#pauseAfter(error));
    this.#idleBatchAtMs = end === 'idle' ? startedAtMs : undefined;
    return end === 'more';
  }

  /** Commits do not shorten this pause, because each would send a useless request to an unavailable broker. */
  async #pauseAfter(error: unknown): Promise<BatchEnd> {
    this.#failures.failed(error);
    await abortableSleep(this.#backoff.next(), this.#stop.signal);
    return 'more';
  }

  async #relayBatch(): Promise<BatchEnd> {
    if (!this.#isConnected() || !(await this.#lease.takeIfDue())) return 'idle';
    const rows = await this.database.query<OutboxRow>(
      `SELECT id, message_id, pattern, payload, request_id, traceparent FROM ${this.schema}.outbox WHERE available_at <= now() ORDER BY id LIMIT $1`,
      [BATCH_SIZE],
      `${this.schema}.outbox.next`,
    );
    // The process may have been suspended since it requested the lease.
    if (!this.#lease.isHeld) return 'more';
    const outcome = await this.#publishAll(rows);
    const end = rows.length === BATCH_SIZE && outcome.unavailable.length === 0 ? 'more' : 'idle';
    await this.#settle(outcome, end);
    if (outcome.unavailable.length > 0) throw this.#unavailability(outcome.unavailable[0]);
    this.#backoff.reset();
    this.#failures.succeeded();
    return end;
  }

  async #reportWaiting(): Promise<void> {
    const { schema } = this;
    const [row] = await this.database.query<{ count: number; seconds: number }>(
      `SELECT count(*)::int AS count, coalesce(greatest(extract(epoch FROM now() - min(available_at)), 0), 0)::float AS seconds
         FROM (SELECT available_at FROM ${schema}.outbox ORDER BY id LIMIT $1) AS first`,
      [MAX_COUNTED],
    );
    this.metrics.outboxWaiting.set({ schema }, row?.count ?? 0);
    this.metrics.outboxOldest.set({ schema }, row?.seconds ?? 0);
  }

  async #publishAll(rows: readonly OutboxRow[]): Promise<BatchOutcome> {
    const results = await Promise.allSettled(rows.map((row) => this.#publish(row)));
    const failed = rows.flatMap(({ id }, index) => {
      const result = results[index];
      return result?.status === 'rejected' ? [{ id, reason: result.reason as unknown }] : [];
    });
    const left = new Set(failed.map(({ id }) => id));
    // A broker that confirms nothing in time is unavailable. An event counts as refused only where others of the batch were confirmed.
    const isNoneTaken = left.size === rows.length;
    const isUnavailable = ({ reason }: { reason: unknown }) =>
      !(reason instanceof RefusedEvent) && (isNoneTaken || this.#isUnavailable(reason));
    return {
      published: rows.map(({ id }) => id).filter((id) => !left.has(id)),
      unavailable: failed.filter(isUnavailable).map(({ reason }) => reason),
      refused: failed.filter((failure) => !isUnavailable(failure)),
    };
  }

  #isConnected(): boolean {
    return this.transport.problem() === undefined;
  }

  #isUnavailable(reason: unknown): boolean {
    return !this.#isConnected() || isAppError(reason, 'SERVICE_UNAVAILABLE');
  }

  #unavailability(reason: unknown): unknown {
    if (this.#isConnected()) return reason;
    return appError('SERVICE_UNAVAILABLE', { cause: new ServerAway('message broker: the connection was lost') });
  }

  /** The span continues the trace in which the event was written, not that of the commit that woke the relay. */
  #publish({ message_id: id, pattern, payload, request_id, traceparent }: OutboxRow): Promise<void> {
    const span = { name: `${pattern} send`, kind: 'producer', attributes: { 'messaging.message.id': id } } as const;
    return continueTrace(traceparent, span, () =>
      this.transport.publishEvent({
        id,
        pattern,
        body: JSON.stringify(payload),
        requestId: request_id ?? undefined,
        traceparent: currentTraceparent(),
      }),
    );
  }

  async #settle({ published, unavailable, refused }: BatchOutcome, end: BatchEnd): Promise<void> {
    const { schema } = this;
    if (refused.length > 0) await this.#postpone(refused);
    const release = this.#lease.release();
    if (end === 'more') await this.database.run(this.#removal(published));
    else if (published.length === 0) await this.database.run(release);
    else await this.database.run(combineStatements([this.#removal(published), release]));
    this.metrics.outboxPublished.inc({ schema, outcome: 'ok' }, published.length);
    this.metrics.outboxPublished.inc({ schema, outcome: 'failed' }, refused.length + unavailable.length);
  }

  #removal(ids: readonly string[]): Statement {
    return {
      name: `${this.schema}.outbox.remove`,
      text: `DELETE FROM ${this.schema}.outbox WHERE id = ANY($1)`,
      values: [ids],
    };
  }

  async #postpone(refused: BatchOutcome['refused']): Promise<void> {
    const reason = messageOf(refused[0]?.reason);
    this.#logger.warn(`${refused.length} events were refused (${reason}); they are stored and retried later`);
    await this.database.query(
      `UPDATE ${this.schema}.outbox
          SET attempts = attempts + 1,
              available_at = now() + make_interval(secs => LEAST($2 * power(2, LEAST(attempts, 20)), $3))
        WHERE id = ANY($1)`,
      [refused.map(({ id }) => id), FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS],
    );
  }

  /** Releases the lease of a relay that stops between two batches, so that the next relay need not wait for its expiry. */
  async #releaseTurn(): Promise<void> {
    if (this.#lease.isHeld) await this.database.run(this.#lease.release()).catch(() => undefined);
  }
}

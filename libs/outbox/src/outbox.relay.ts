import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Database, type Tx } from '#database';
import { AppError, messageOf } from '#errors';
import { EventPublisher } from '#messaging';
import { continueTrace, currentTraceparent, Metrics } from '#observability';
import { OUTBOX_SCHEMA } from './outbox.schema.js';

const BATCH_SIZE = 100;
/** Rows of a process that died before it could relay them wait this long at most, in milliseconds. */
const POLL_INTERVAL_MS = 1_000;
/** Between the starts of two batches, in milliseconds: events that follow each other closely go together. The first goes at once. */
const GATHER_MS = 20;
const FIRST_RETRY_SECONDS = 1;
const LONGEST_RETRY_SECONDS = 300;
/** What is counted of a long outbox: by then it is long enough. */
const COUNTED = 10_000;

interface OutboxRow {
  readonly id: string;
  readonly message_id: string;
  readonly pattern: string;
  readonly payload: unknown;
  readonly request_id: string | null;
  readonly traceparent: string | null;
}

/**
 * Moves committed events to the broker at least once: a row is deleted only after the broker has confirmed it. One relay
 * per schema works at a time (an advisory lock) and takes rows in their order, so events keep it over replicas too; only
 * an event that the broker refuses is tried again later, behind others.
 */
@Injectable()
export class OutboxRelay implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('Outbox');
  private isStopping = false;
  private isAwake = false;
  private endWait: (() => void) | undefined;
  private loop: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly publisher: EventPublisher,
    private readonly metrics: Metrics,
    @Inject(OUTBOX_SCHEMA) private readonly schema: string,
  ) {}

  onApplicationBootstrap(): void {
    const { outboxWaiting, outboxOldest } = this.metrics;
    this.metrics.sample({ gauges: [outboxWaiting, outboxOldest], read: () => this.tellWaiting() });
    this.loop = this.run();
  }

  async onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    this.wake();
    await this.loop;
  }

  /** Tells the relay that rows may be waiting. */
  wake(): void {
    this.isAwake = true;
    this.endWait?.();
  }

  private async run(): Promise<void> {
    while (!this.isStopping) {
      const startedAt = performance.now();
      const isMoreWaiting = await this.relayBatch().catch((error: unknown) => {
        this.reportPause(error);
        return false;
      });
      if (isMoreWaiting) continue;
      await this.pause();
      await sleep(Math.max(0, startedAt + GATHER_MS - performance.now()));
    }
  }

  /** A database or broker that is away is told by /readyz; anything else would keep events back unseen. */
  private reportPause(error: unknown): void {
    const isAway = error instanceof AppError && error.is('SERVICE_UNAVAILABLE');
    this.logger[isAway ? 'debug' : 'warn'](`paused: ${messageOf(error)}`);
  }

  private async pause(): Promise<void> {
    if (!this.isAwake) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, POLL_INTERVAL_MS);
        this.endWait = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.isAwake = false;
    this.endWait = undefined;
  }

  private async relayBatch(): Promise<boolean> {
    if (!this.publisher.isConnected()) return false;
    return this.database.transaction(async (tx) => {
      if (!(await this.isTheOneRelay(tx))) return false;
      const rows = await tx.query<OutboxRow>(
        `SELECT id, message_id, pattern, payload, request_id, traceparent FROM ${this.schema}.outbox WHERE available_at <= now() ORDER BY id LIMIT $1`,
        [BATCH_SIZE],
        `${this.schema}.outbox.next`,
      );
      const outcomes = await Promise.allSettled(rows.map((row) => this.publish(row)));
      await this.settle(tx, rows, outcomes);
      return rows.length === BATCH_SIZE;
    });
  }

  private async tellWaiting(): Promise<void> {
    const [row] = await this.database.query<{ count: number; seconds: number }>(
      `SELECT count(*)::int AS count, coalesce(greatest(extract(epoch FROM now() - min(available_at)), 0), 0)::float AS seconds
         FROM (SELECT available_at FROM ${this.schema}.outbox ORDER BY id LIMIT $1) AS first`,
      [COUNTED],
    );
    this.metrics.outboxWaiting.set(row?.count ?? 0);
    this.metrics.outboxOldest.set(row?.seconds ?? 0);
  }

  private async isTheOneRelay(tx: Tx): Promise<boolean> {
    const [row] = await tx.query<{ locked: boolean }>(
      'SELECT pg_try_advisory_xact_lock(hashtext($1)) AS locked',
      [`${this.schema}.outbox`],
      'outbox.lock',
    );
    return row?.locked === true;
  }

  /** Of the trace in which the event was written, not of whatever woke the relay. */
  private publish({ message_id: id, pattern, payload, request_id, traceparent }: OutboxRow): Promise<void> {
    const span = { name: `${pattern} send`, kind: 'producer', attributes: { 'messaging.message.id': id } } as const;
    return continueTrace(traceparent, span, () =>
      this.publisher.publish({
        id,
        pattern,
        body: JSON.stringify(payload),
        requestId: request_id ?? undefined,
        traceparent: currentTraceparent(),
      }),
    );
  }

  private async settle(
    tx: Tx,
    rows: readonly OutboxRow[],
    outcomes: readonly PromiseSettledResult<void>[],
  ): Promise<void> {
    const idsWith = (status: string) =>
      rows.filter((_, index) => outcomes[index]?.status === status).map(({ id }) => id);
    const published = idsWith('fulfilled');
    const failed = idsWith('rejected');
    if (published.length > 0) await this.remove(tx, published);
    if (failed.length > 0) await this.postpone(tx, failed);
    this.metrics.outboxPublished.inc({ outcome: 'ok' }, published.length);
    this.metrics.outboxPublished.inc({ outcome: 'failed' }, failed.length);
  }

  private async remove(tx: Tx, ids: readonly string[]): Promise<void> {
    await tx.query(`DELETE FROM ${this.schema}.outbox WHERE id = ANY($1)`, [ids], `${this.schema}.outbox.remove`);
  }

  private async postpone(tx: Tx, ids: readonly string[]): Promise<void> {
    this.logger.warn(`${ids.length} events could not be published; they are kept and tried again`);
    await tx.query(
      `UPDATE ${this.schema}.outbox
          SET attempts = attempts + 1,
              available_at = now() + make_interval(secs => LEAST($2 * power(2, LEAST(attempts, 20)), $3))
        WHERE id = ANY($1)`,
      [ids, FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS],
    );
  }
}

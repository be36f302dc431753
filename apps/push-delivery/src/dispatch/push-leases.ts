import { randomUUID } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { messageOf } from '#errors';
import type { PushJob } from './push-job.types.js';
import { PushJobsRepository } from './push-jobs.repository.js';

const LEASE_SECONDS = 30;
const RENEW_INTERVAL_MS = 10_000;

/** A push that this process works on. */
export interface HeldPush {
  readonly job: PushJob;
  /** Says that the lease is lost, or that the process stops. */
  readonly stop: AbortController;
}

interface Holding extends HeldPush {
  /** On the clock of `performance.now()`: from then on somebody else may have it. */
  heldUntil: number;
}

/** The leases that this process holds, kept up while it works. */
@Injectable()
export class PushLeases {
  private readonly logger = new Logger('Pushes');
  readonly #held = new Set<Holding>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly jobs: PushJobsRepository) {}

  start(): void {
    this.#timer = setInterval(() => void this.#renew(), RENEW_INTERVAL_MS);
  }

  /** Ends all work that is under way at its next step. */
  stopAll(): void {
    for (const { stop } of this.#held) stop.abort();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async take(isBulk: boolean, limit: number): Promise<HeldPush[]> {
    const askedAt = performance.now();
    const claim = { isBulk, limit, lease: randomUUID(), leaseSeconds: LEASE_SECONDS };
    const held = (await this.jobs.claim(claim)).map((job) => ({
      job,
      stop: new AbortController(),
      heldUntil: askedAt + LEASE_SECONDS * 1_000,
    }));
    for (const holding of held) this.#held.add(holding);
    return held;
  }

  letGo(push: HeldPush): void {
    this.#held.delete(push as Holding);
  }

  async #renew(): Promise<void> {
    const held = [...this.#held];
    if (held.length === 0) return;
    const heldUntil = performance.now() + LEASE_SECONDS * 1_000;
    try {
      const jobs = held.map(({ job }) => job);
      const ours = new Set(await this.jobs.renew(jobs, LEASE_SECONDS));
      for (const holding of held) holding.heldUntil = ours.has(holding.job.objectId) ? heldUntil : 0;
    } catch (error) {
      this.logger.debug(`leases could not be renewed: ${messageOf(error)}`);
    }
    for (const { heldUntil: until, stop } of held) if (performance.now() >= until) stop.abort();
  }
}

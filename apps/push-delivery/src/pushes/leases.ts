import { Logger } from '@nestjs/common';
import { ClaimingWorker } from '#database';
import { messageOf } from '#errors';

/** A process that dies or hangs blocks its work for this time. */
export const LEASE_SECONDS = 5;
const RENEW_INTERVAL_MS = 1_000;

export type Held<Work> = Work & {
  /** Aborted when the lease is lost or the process stops. */
  readonly stop: AbortController;
};

/** Not a `PeriodicJob`, because renewal goes on while the workers stop. */
class Leases<Work extends object> {
  readonly #logger = new Logger('Pushes');
  readonly #ends = new Map<Held<Work>, number>();
  #timer: NodeJS.Timeout | undefined;
  #isRenewing = false;

  /** @param renew returns the works whose leases this process still held */
  constructor(private readonly renew: (works: readonly Held<Work>[]) => Promise<ReadonlySet<Work>>) {}

  start(): void {
    this.#timer = setInterval(() => void this.#tick(), RENEW_INTERVAL_MS);
  }

  stopAll(): void {
    for (const { stop } of this.#ends.keys()) stop.abort();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** @param claimedAt the `performance.now()` before the claim */
  hold(works: readonly Work[], claimedAt: number): Held<Work>[] {
    const held = works.map((work) => ({ ...work, stop: new AbortController() }));
    for (const one of held) this.#ends.set(one, endOf(claimedAt));
    return held;
  }

  release(held: Held<Work>): void {
    this.#ends.delete(held);
  }

  async #tick(): Promise<void> {
    this.#stopEnded();
    if (this.#isRenewing || this.#ends.size === 0) return;
    this.#isRenewing = true;
    await this.#renewAll();
    this.#isRenewing = false;
    this.#stopEnded();
  }

  #stopEnded(): void {
    for (const [{ stop }, until] of this.#ends) if (performance.now() >= until) stop.abort();
  }

  async #renewAll(): Promise<void> {
    const held = [...this.#ends.keys()];
    const end = endOf(performance.now());
    const renewed = await this.renew(held).catch((error: unknown) => {
      this.#logger.debug(`leases could not be renewed: ${messageOf(error)}`);
      return undefined;
    });
    if (renewed !== undefined)
      for (const one of held.filter((each) => this.#ends.has(each))) this.#ends.set(one, renewed.has(one) ? end : 0);
  }
}

type ClaimingOptions<Work extends object> = ConstructorParameters<typeof ClaimingWorker<Held<Work>>>[0];

interface LeasedOptions<Work extends object> extends Omit<ClaimingOptions<Work>, 'claim' | 'work'> {
  readonly claim: (limit: number) => Promise<{ readonly claimed: readonly Work[]; readonly isMoreDue: boolean }>;
  readonly renew: (works: readonly Held<Work>[]) => Promise<ReadonlySet<Work>>;
  /** If it rejects, the lease expires, and the next process that claims the work continues it. */
  readonly work: (held: Held<Work>, isFull: () => boolean) => Promise<void>;
  readonly abandoned: (work: Work) => readonly [text: string, ...context: object[]];
}

export class LeasedWorker<Work extends object> {
  readonly #leases: Leases<Work>;
  readonly #worker: ClaimingWorker<Held<Work>>;

  constructor(options: LeasedOptions<Work>) {
    this.#leases = new Leases(options.renew);
    this.#worker = new ClaimingWorker({
      ...options,
      claim: async (limit) => {
        const claimedAt = performance.now();
        const { claimed, isMoreDue } = await options.claim(limit);
        return { items: this.#leases.hold(claimed, claimedAt), isMoreDue };
      },
      work: (held) => this.#work(held, options),
    });
  }

  start(): void {
    this.#leases.start();
    this.#worker.start();
  }

  /** Aborts the works in progress, and resolves when they have ended. */
  async stop(): Promise<void> {
    await this.#worker.stopClaiming();
    this.#leases.stopAll();
    await this.#worker.finished();
    this.#leases.close();
  }

  wake(): void {
    this.#worker.wake();
  }

  async #work(held: Held<Work>, { work, abandoned, logger }: LeasedOptions<Work>): Promise<void> {
    try {
      await work(held, () => this.#worker.isFull());
    } catch (error) {
      const [text, ...context] = abandoned(held);
      logger.warn(`${text}: ${messageOf(error)}`, ...context);
    } finally {
      this.#leases.release(held);
    }
  }
}

function endOf(claimedAt: number): number {
  return claimedAt + LEASE_SECONDS * 1_000;
}

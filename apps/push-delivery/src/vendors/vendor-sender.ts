import { randomUUID } from 'node:crypto';
import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { chunksOf, Clock } from '#bootstrap';
import { broadcastContracts, VENDORS } from '#contracts';
import { Backoff, messageOf, whileUnavailable } from '#errors';
import { Broadcasts } from '#messaging';
import { Metrics } from '#observability';
import { type Held, LeasedWorker } from '../pushes/leases.js';
import { type LaneAnswers, settlementOf, type Settlement, type TargetOutcome } from './settlement.rules.js';
import { type LaneClaimLimits, type VendorBatch, VendorBatchesRepository } from './vendor-batches.repository.js';
import { laneVendor, type Outcome, type VendorTarget } from './vendor-channel.rules.js';
import { VendorChannels, VendorLanes } from './vendor-channels.js';
import type { VendorLane } from './vendor-lane.js';
import { VendorLanesRepository } from './vendor-lanes.repository.js';
import { type Settled, VendorSettlementRepository } from './vendor-settlement.repository.js';

/** Numbers of batches. Those of unresponsive lanes are at most `extraWhileSlow`, so responsive vendors always find a slot. */
const SLOTS = {
  single: { total: 32, extraWhileSlow: 64, perLane: 16, perClaim: 8 },
  bulk: { total: 8, extraWhileSlow: 24, perLane: 2, perClaim: 1 },
};
type Kind = keyof typeof SLOTS;
/** Results must be recorded before a lease expires and another process claims the batch. */
const LONGEST_PAUSE_MS = 500;
const STOP_MS = 5_000;
/** A slower batch frees its slot, as one of `extraWhileSlow`. */
const SLOW_MS = 2_000;

@Injectable()
export class VendorSender implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #logger = new Logger('Vendors');
  readonly #lanes: VendorLanes;
  readonly #workers: Readonly<Record<Kind, LeasedWorker<VendorBatch>>>;
  readonly #running = { single: new Map<VendorBatch, number>(), bulk: new Map<VendorBatch, number>() };
  /** Their lanes get no further batch until PostgreSQL takes the results. */
  readonly #unrecorded = new Set<VendorBatch>();
  readonly #end = new AbortController();

  constructor(
    private readonly batches: VendorBatchesRepository,
    private readonly settlements: VendorSettlementRepository,
    private readonly states: VendorLanesRepository,
    channels: VendorChannels,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
    broadcasts: Broadcasts,
  ) {
    this.#lanes = new VendorLanes(channels, metrics.vendorRequests);
    this.#workers = { single: this.#worker('single'), bulk: this.#worker('bulk') };
    broadcasts.on(broadcastContracts.vendorBatchesAdded, () => {
      this.#wake();
    });
    broadcasts.on(broadcastContracts.vendorsChanged, ({ appId, resumed }) => {
      this.#lanes.forget(appId);
      void this.#resume(appId, resumed);
    });
    const gauges = [metrics.vendorWaiting, metrics.vendorOldest, metrics.vendorLanes, metrics.vendorLanesResting];
    metrics.sample({ gauges, read: () => this.#measure() });
  }

  onApplicationBootstrap(): void {
    for (const worker of Object.values(this.#workers)) worker.start();
  }

  /** Requests in progress end, and their results are recorded. */
  async beforeApplicationShutdown(): Promise<void> {
    const end = setTimeout(() => {
      this.#end.abort();
    }, STOP_MS);
    await Promise.all(Object.values(this.#workers).map((worker) => worker.stop()));
    clearTimeout(end);
    this.#lanes.close();
  }

  #worker(kind: Kind): LeasedWorker<VendorBatch> {
    const { total, extraWhileSlow, perClaim } = SLOTS[kind];
    return new LeasedWorker<VendorBatch>({
      slots: () => total + Math.min(extraWhileSlow, this.#slow(kind)),
      claim: async (free) => {
        const limit = Math.min(free, perClaim);
        const limits = this.#claimLimits(kind);
        const claimed = await this.batches.claim(limit, randomUUID(), kind === 'bulk', limits);
        // Behind a lane at its limit, batches of other lanes may be due.
        const isLimited = claimed.some((batch) => (limits.named.get(nameOf(batch)) ?? limits.others) < limit);
        return { claimed, isMoreDue: claimed.length === limit || isLimited };
      },
      renew: (held) => this.batches.renew(held),
      work: (batch) => this.#workOn(kind, batch),
      abandoned: ({ objectId, requestId }) => [
        `a batch of push ${objectId} waits until its lease expires`,
        { requestId },
      ],
      logger: this.#logger,
      claiming: 'claiming batches of a vendor',
    });
  }

  /** Batches that found their lane paused or without credentials before the news arrived are due again. */
  async #resume(appId: string, lanes: readonly string[]): Promise<void> {
    try {
      if (lanes.length > 0) await this.batches.resume(appId, lanes);
    } catch (error) {
      this.#logger.warn(`the waiting devices of ${appId} go on later: ${messageOf(error)}`);
    }
    this.#wake();
  }

  #wake(): void {
    for (const worker of Object.values(this.#workers)) worker.wake();
  }

  #slow(kind: Kind): number {
    const before = performance.now() - SLOW_MS;
    return [...this.#running[kind].values()].filter((since) => since <= before).length;
  }

  #claimLimits(kind: Kind): LaneClaimLimits {
    const { extraWhileSlow, perLane, perClaim } = SLOTS[kind];
    const running = new Map<string, number>();
    for (const name of [...this.#running[kind].keys()].map(nameOf)) running.set(name, (running.get(name) ?? 0) + 1);
    const responsive = new Set(this.#lanes.responsive());
    const unrecorded = new Set([...this.#unrecorded].map(nameOf));
    const limitOf = (name: string): number => {
      if (unrecorded.has(name) || !responsive.has(name)) return 0;
      return (running.get(name) ?? 0) < perLane ? perClaim : 0;
    };
    const backingOff = this.#lanes.backingOff().map(({ name }) => name);
    const names = new Set([...responsive, ...running.keys(), ...backingOff, ...unrecorded]);
    const unresponsive = [...running].reduce((sum, [name, count]) => sum + (responsive.has(name) ? 0 : count), 0);
    return {
      named: new Map([...names].map((name) => [name, limitOf(name)])),
      others: unresponsive + perClaim <= extraWhileSlow ? 1 : 0,
    };
  }

  async #workOn(kind: Kind, batch: Held<VendorBatch>): Promise<void> {
    this.#running[kind].set(batch, performance.now());
    try {
      await this.#send(batch);
    } finally {
      this.#running[kind].delete(batch);
      // The lane may have been full: its next batch does not wait for the next poll.
      this.#workers[kind].wake();
    }
  }

  async #send(batch: Held<VendorBatch>): Promise<void> {
    const lane = await this.#lanes.find(batch.appId, batch.lane);
    const results = lane === undefined ? withoutLane(batch) : await this.#results(batch, lane);
    const settlement = settlementOf(results, {
      attempt: batch.attempt,
      now: this.clock.now(),
      endsAt: endOf(batch, lane),
      backOffMs: lane?.backOffMs ?? 0,
      random: Math.random(),
    });
    const settled = await this.#settle(batch, settlement, lane?.takeAnswerReport(results));
    if (settled === undefined) return;
    this.#report(batch, settlement, settled);
    if (settled.isNewlyDoubted)
      this.#logger.warn(
        `${batch.appId} ${batch.lane}: the vendor calls many tokens invalid, and none is removed. Are these the credentials of this app? If they are: gatepost vendors trust`,
      );
  }

  /** While PostgreSQL is away, results are kept: the next holder of the batch would send everything again. */
  async #settle(batch: VendorBatch, settlement: Settlement, answers?: LaneAnswers): Promise<Settled | undefined> {
    const attempt = () =>
      this.settlements.settle(batch, settlement, answers).catch((error: unknown) => {
        this.#unrecorded.add(batch);
        throw error;
      });
    try {
      return await whileUnavailable(attempt, new Backoff(LONGEST_PAUSE_MS), this.#end.signal);
    } finally {
      this.#unrecorded.delete(batch);
    }
  }

  async #results(batch: Held<VendorBatch>, lane: VendorLane): Promise<TargetOutcome[]> {
    const isExpired = this.#isExpired(batch, lane);
    const found = isExpired ? new Map<string, VendorTarget>() : await this.batches.targets(batch, lane.vendor);
    const devices = batch.targets.map((objectId, place) => {
      const badge = batch.badges?.[place] ?? null;
      const target = found.get(objectId);
      return { objectId, badge, ...(target === undefined ? {} : { target: { ...target, badge } }) };
    });
    const gone: Outcome = isExpired
      ? { kind: 'waiting', reason: 'expired' }
      : { kind: 'rejected', reason: 'the device has changed' };
    const sent = await this.#sendAll(
      batch,
      lane,
      devices.flatMap(({ target }) => target ?? []),
    );
    return devices.map((device) => ({ ...device, outcome: sent.get(device.objectId) ?? gone }));
  }

  async #sendAll(
    batch: Held<VendorBatch>,
    lane: VendorLane,
    targets: readonly VendorTarget[],
  ): Promise<Map<string, Outcome>> {
    const { targetsPerRequest: size } = lane.channel;
    const options = {
      isUrgent: !batch.isBulk,
      signal: batch.stop.signal,
      isExpired: () => this.#isExpired(batch, lane),
    };
    const outcomes = new Map<string, Outcome>();
    const requests = chunksOf(targets, size).map(async (some) => {
      const answered = await lane.send(batch, some, options);
      for (const [index, { objectId }] of some.entries()) {
        const outcome = answered[index];
        if (outcome !== undefined) outcomes.set(objectId, outcome);
      }
    });
    await Promise.all(requests);
    return outcomes;
  }

  #isExpired(batch: VendorBatch, lane: VendorLane): boolean {
    return this.clock.now() >= endOf(batch, lane);
  }

  #report({ lane }: VendorBatch, { counts, remaining, isAttempt }: Settlement, { areDoubtfulInvalid }: Settled): void {
    const vendor = laneVendor(lane);
    const { doubtful, ...others } = counts;
    const decided = areDoubtfulInvalid ? 'invalid' : 'rejected';
    for (const [outcome, devices] of Object.entries({ ...others, [decided]: others[decided] + doubtful }))
      this.metrics.vendorMessages.inc({ vendor, outcome }, devices);
    if (isAttempt) this.metrics.vendorMessages.inc({ vendor, outcome: 'retried' }, remaining.length);
  }

  async #measure(): Promise<void> {
    const [waiting, notable] = await Promise.all([this.states.waiting(), this.states.notable()]);
    const backingOff = this.#lanes.backingOff();
    for (const vendor of VENDORS) {
      const { devices, seconds } = waiting.find((one) => one.vendor === vendor) ?? { devices: 0, seconds: 0 };
      const { paused, doubted } = notable.find((one) => one.vendor === vendor) ?? { paused: 0, doubted: 0 };
      this.metrics.vendorWaiting.set({ vendor }, devices);
      this.metrics.vendorOldest.set({ vendor }, seconds);
      this.metrics.vendorLanes.set({ vendor, state: 'paused' }, paused);
      this.metrics.vendorLanes.set({ vendor, state: 'doubted' }, doubted);
      this.metrics.vendorLanesResting.set({ vendor }, backingOff.filter((lane) => lane.vendor === vendor).length);
    }
  }
}

function nameOf({ appId, lane }: VendorBatch): string {
  return `${appId} ${lane}`;
}

function endOf({ expiresAt, endsAt }: VendorBatch, lane: VendorLane | undefined): Date {
  return lane?.isPaused === true ? expiresAt : endsAt;
}

function withoutLane({ targets, badges }: VendorBatch): TargetOutcome[] {
  return targets.map((objectId, place) => ({
    objectId,
    badge: badges?.[place] ?? null,
    outcome: { kind: 'credentials', reason: 'no credentials' },
  }));
}

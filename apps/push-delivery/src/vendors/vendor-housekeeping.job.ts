import { Injectable, Logger } from '@nestjs/common';
import { PeriodicJob } from '#bootstrap';
import { Backoff, messageOf, whileUnavailable } from '#errors';
import { Metrics, ProcessInfo } from '#observability';
import { parseLane } from './vendor-channel.rules.js';
import { VendorChannels } from './vendor-channels.js';
import { type ListedLane, VendorLanesRepository } from './vendor-lanes.repository.js';
import { OUTSIDE_CHINA } from './vendor-route.rules.js';
import { VendorSettlementRepository } from './vendor-settlement.repository.js';

const INTERVAL_MS = 30_000;
/** Xiaomi permits few requests for its list. */
const LIST_SECONDS = 3_600;
const AWAY_MS = 5_000;

/** Reports that this process sends, ends expired batches, and reads Xiaomi's list of invalid tokens each hour in one process. */
@Injectable()
export class VendorHousekeeping extends PeriodicJob {
  readonly #logger = new Logger('Vendors');

  constructor(
    private readonly lanes: VendorLanesRepository,
    private readonly channels: VendorChannels,
    private readonly process: ProcessInfo,
    private readonly settlements: VendorSettlementRepository,
    private readonly metrics: Metrics,
  ) {
    super({ name: 'vendor-housekeeping', intervalMs: INTERVAL_MS, metrics });
  }

  override onApplicationBootstrap(): void {
    this.lanes.report(this.process.instance).catch(() => undefined);
    super.onApplicationBootstrap();
  }

  override async beforeApplicationShutdown(): Promise<void> {
    await super.beforeApplicationShutdown();
    await this.lanes.leave(this.process.instance).catch(() => undefined);
  }

  async processBatch(): Promise<boolean> {
    await this.lanes.report(this.process.instance);
    const lane = await this.lanes.claimList('xiaomi', LIST_SECONDS);
    const isMoreDue = await this.#expire();
    if (lane === undefined) return isMoreDue;
    await this.#readList(lane).catch((error: unknown) => {
      this.#logger.warn(`${lane.appId} ${lane.lane}: the list of invalid tokens was not read: ${messageOf(error)}`);
    });
    return true;
  }

  /** @returns whether more may have expired */
  async #expire(): Promise<boolean> {
    const ended = await this.settlements.expire();
    for (const { vendor, devices } of ended) this.metrics.vendorMessages.inc({ vendor, outcome: 'expired' }, devices);
    return ended.some(({ isMoreDue }) => isMoreDue);
  }

  async #readList(lane: ListedLane): Promise<void> {
    const key = parseLane(lane.lane);
    const opened = key === undefined ? undefined : await this.channels.credentialsOf(lane.appId, key);
    if (key === undefined || opened === undefined) return;
    const channel = await this.channels.open(lane.appId, opened, key.prod);
    try {
      const names = [key.part === OUTSIDE_CHINA ? 'mi-intl' : 'mi'];
      let removed = 0;
      for await (const tokens of channel.invalidTokens?.() ?? [])
        removed += await this.#invalidate(lane, names, tokens);
      await this.lanes.confirmList(lane);
      if (removed > 0) this.#logger.log(`${lane.appId} ${lane.lane}: ${removed} installations are invalid by the list`);
    } finally {
      channel.close();
    }
  }

  /** Xiaomi does not name the tokens again. */
  async #invalidate(lane: ListedLane, names: readonly string[], tokens: readonly string[]): Promise<number> {
    if (lane.before === null) return 0;
    const attempt = () => this.lanes.invalidate(lane, names, tokens);
    return whileUnavailable(attempt, new Backoff(), AbortSignal.timeout(AWAY_MS));
  }
}

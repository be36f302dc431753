import { Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Vendor } from '#contracts';
import { messageOf } from '#errors';
import type { Metrics } from '#observability';
import { parseLane } from './vendor-route.rules.js';
import type { TargetOutcome } from './settlement.rules.js';
import type { VendorChannels } from './vendor-channels.js';
import type { Outcome, VendorChannel, VendorPush, VendorTarget } from './vendor.types.js';

const FIRST_WINDOW = 10;
const MAX_WINDOW = 2_000;
/** Within this time the window shrinks once. */
const SHRINK_INTERVAL_MS = 1_000;
/** Transport failures in a row after which the lane rests. */
const MAX_FAILURES = 5;
const FAILURE_REST_MS = { first: 1_000, longest: 30_000 };
const CREDENTIALS_REST_MS = { first: 60_000, longest: 15 * 60_000 };
const LONGEST_ASKED_REST_MS = 10 * 60_000;

/**
 * The requests of an application to a vendor in this process: how many run at once, and when none does. What fails, fails for one lane.
 */
export class VendorLane {
  readonly #window = new SendWindow();
  readonly #doubts = new DoubtfulTokens();
  #restUntil = 0;
  #restReason = '';
  #lastRestMs = 0;
  #failures = 0;

  constructor(
    readonly name: string,
    readonly vendor: Vendor,
    readonly version: number,
    readonly channel: VendorChannel,
    private readonly requests: Metrics['vendorRequests'],
    private readonly logger: Logger,
  ) {}

  /** For how long nothing is sent. */
  get restMs(): number {
    return Math.max(0, this.#restUntil - performance.now());
  }

  /** @returns one outcome for each target, in their order */
  async send(push: VendorPush, targets: readonly VendorTarget[], signal: AbortSignal): Promise<readonly Outcome[]> {
    await this.#window.enter();
    try {
      if (signal.aborted) return targets.map(() => ({ kind: 'waiting', reason: 'the process stops' }));
      if (this.restMs > 0) return targets.map(() => ({ kind: 'waiting', reason: this.#restReason }));
      const end = this.requests.startTimer({ vendor: this.vendor });
      const outcomes = await this.#sendSafely(push, targets);
      end();
      for (const outcome of outcomes) this.#learn(outcome);
      return outcomes;
    } finally {
      this.#window.leave();
    }
  }

  /**
   * Decides on tokens that the vendor calls invalid but that wrong credentials would have made invalid as well: they are dead only if
   * the vendor has accepted most other tokens of the lane within the last minutes.
   */
  judge(results: readonly TargetOutcome[]): TargetOutcome[] {
    const isTrusted = this.#doubts.trusts(results.map(({ outcome }) => outcome));
    if (isTrusted === false)
      this.logger.warn(
        `${this.name}: the vendor calls many tokens invalid, and none was removed. Are these the credentials of this app?`,
      );
    return results.map((result) => {
      const { outcome } = result;
      if (outcome.kind !== 'invalid' || outcome.isDoubtful !== true || isTrusted === true) return result;
      return { ...result, outcome: { kind: 'rejected', reason: outcome.reason } };
    });
  }

  /** A defect must not repeat the other devices of the batch again and again. */
  async #sendSafely(push: VendorPush, targets: readonly VendorTarget[]): Promise<readonly Outcome[]> {
    try {
      return await this.channel.send(push, targets);
    } catch (error) {
      this.logger.error(`${this.name}: push ${push.objectId} could not be sent: ${messageOf(error)}`);
      return targets.map(() => ({ kind: 'rejected', reason: 'internal error' }));
    }
  }

  #learn(outcome: Outcome): void {
    if (outcome.kind === 'accepted' || outcome.kind === 'invalid' || outcome.kind === 'rejected') {
      this.#failures = 0;
      this.#lastRestMs = 0;
      this.#window.grow();
    } else if (outcome.kind === 'credentials') this.#rest(outcome.reason, CREDENTIALS_REST_MS);
    else if (outcome.kind === 'unsure' || (outcome.kind === 'later' && outcome.slowsLane === true)) this.#slow(outcome);
  }

  #slow(outcome: Outcome & { readonly reason: string; readonly restMs?: number }): void {
    this.#window.shrink();
    this.#failures += 1;
    const { restMs = 0, reason } = outcome;
    if (restMs > 0) this.#restFor(Math.min(restMs, LONGEST_ASKED_REST_MS), reason);
    else if (this.#failures >= MAX_FAILURES) this.#rest(reason, FAILURE_REST_MS);
  }

  /** Requests that fail at the same time start one rest. */
  #rest(reason: string, { first, longest }: { first: number; longest: number }): void {
    if (this.restMs > 0) return;
    if (this.#lastRestMs === 0) this.logger.warn(`${this.name} rests, its pushes wait: ${reason}`);
    this.#lastRestMs = Math.min(longest, Math.max(first, 2 * this.#lastRestMs));
    this.#restFor(this.#lastRestMs, reason);
  }

  #restFor(ms: number, reason: string): void {
    this.#restUntil = Math.max(this.#restUntil, performance.now() + ms);
    this.#restReason = reason;
    // One request finds out whether the vendor is back.
    this.#window.reset();
  }
}

/** Limits the requests at once: more after each success, half after a refusal (AIMD, with a fast start). */
class SendWindow {
  #limit = FIRST_WINDOW;
  #running = 0;
  #isStarting = true;
  #shrunkAt = -Infinity;
  readonly #waiting: (() => void)[] = [];

  async enter(): Promise<void> {
    if (this.#running >= this.#limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
  }

  leave(): void {
    const next = this.#running <= this.#limit ? this.#waiting.shift() : undefined;
    // The next request takes over the place.
    if (next === undefined) this.#running -= 1;
    else next();
    this.#fill();
  }

  grow(): void {
    this.#limit = Math.min(MAX_WINDOW, this.#limit + (this.#isStarting ? 1 : 1 / this.#limit));
  }

  shrink(): void {
    if (performance.now() - this.#shrunkAt < SHRINK_INTERVAL_MS) return;
    this.#shrunkAt = performance.now();
    this.#isStarting = false;
    this.#limit = Math.max(1, this.#limit / 2);
  }

  reset(): void {
    this.#limit = 1;
    this.#isStarting = true;
  }

  #fill(): void {
    while (this.#running + 1 <= this.#limit && this.#waiting.length > 0) {
      this.#running += 1;
      this.#waiting.shift()?.();
    }
  }
}

const DOUBT_WINDOW_MS = 5 * 60_000;
const MAX_DOUBTFUL_SHARE = 0.2;
/** Below this number the log stays silent. */
const WARN_FROM = 10;

/** Counts accepted and doubtful tokens of the last five to ten minutes. */
class DoubtfulTokens {
  #now = { accepted: 0, doubtful: 0 };
  #before = { accepted: 0, doubtful: 0 };
  #since = performance.now();
  #hasWarned = false;

  /** @returns true: doubtful tokens are dead; false: they are not, and the operator should know; undefined: they are not */
  trusts(outcomes: readonly Outcome[]): boolean | undefined {
    this.#rotate();
    for (const outcome of outcomes) {
      if (outcome.kind === 'accepted') this.#now.accepted += 1;
      if (outcome.kind === 'invalid' && outcome.isDoubtful === true) this.#now.doubtful += 1;
    }
    const accepted = this.#now.accepted + this.#before.accepted;
    const doubtful = this.#now.doubtful + this.#before.doubtful;
    if (doubtful <= MAX_DOUBTFUL_SHARE * (accepted + doubtful)) {
      this.#hasWarned = false;
      return true;
    }
    if (doubtful < WARN_FROM || this.#hasWarned) return undefined;
    this.#hasWarned = true;
    return false;
  }

  #rotate(): void {
    if (performance.now() - this.#since < DOUBT_WINDOW_MS) return;
    this.#before = this.#now;
    this.#now = { accepted: 0, doubtful: 0 };
    this.#since = performance.now();
  }
}

const MAX_LANES = 1_000;
const IDLE_MS = 30 * 60_000;

/** The lanes of this process, each with its connections. A change of its credentials replaces a lane. */
export class VendorLanes {
  readonly #lanes = new LRUCache<string, VendorLane>({
    max: MAX_LANES,
    ttl: IDLE_MS,
    updateAgeOnGet: true,
    ttlAutopurge: true,
    dispose: (lane) => {
      lane.channel.close();
    },
  });
  readonly #logger = new Logger('Vendors');
  readonly #searches = new Map<string, Promise<VendorLane | undefined>>();

  constructor(
    private readonly channels: Pick<VendorChannels, 'credentialsOf' | 'open'>,
    private readonly requests: Metrics['vendorRequests'],
  ) {}

  /** The lanes that rest, each as `<app id> <lane>`. */
  resting(): string[] {
    return [...this.#lanes.values()].filter(({ restMs }) => restMs > 0).map(({ name }) => name);
  }

  /** @returns undefined where the application has no credentials for it any more @throws AppError SERVICE_UNAVAILABLE */
  find(appId: string, laneName: string): Promise<VendorLane | undefined> {
    const name = `${appId} ${laneName}`;
    // Two lanes of one name would close each other's connections.
    const search =
      this.#searches.get(name) ?? this.#find(appId, laneName, name).finally(() => this.#searches.delete(name));
    this.#searches.set(name, search);
    return search;
  }

  async #find(appId: string, laneName: string, name: string): Promise<VendorLane | undefined> {
    const key = parseLane(laneName);
    const opened = key === undefined ? undefined : await this.channels.credentialsOf(appId, key);
    if (key === undefined || opened === undefined) return undefined;
    const known = this.#lanes.get(name);
    if (known?.version === opened.version) return known;
    const channel = await this.channels.open(appId, opened, key.prod);
    const lane = new VendorLane(name, key.vendor, opened.version, channel, this.requests, this.#logger);
    this.#lanes.set(name, lane);
    return lane;
  }

  /** The credentials of the application have changed: what rested because of them goes on. */
  forget(appId: string): void {
    for (const name of [...this.#lanes.keys()]) if (name.startsWith(`${appId} `)) this.#lanes.delete(name);
  }

  close(): void {
    this.#lanes.clear();
  }
}

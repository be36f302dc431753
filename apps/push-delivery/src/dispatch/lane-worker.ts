import { randomUUID } from 'node:crypto';
import type { Logger } from '@nestjs/common';
import { chunksOf, type Clock } from '#bootstrap';
import { Backoff, isAppError, messageOf } from '#errors';
import { continueTrace, type Metrics } from '#observability';
import type { WakeUp } from '../device-queues/connector-nodes.js';
import type { InstallationScanRepository } from '../installations/installations.repository.js';
import { type Held, LeasedWorker } from '../pushes/leases.js';
import type { TargetedInstallation } from '../pushes/push.row.js';
import { badgesOf, type VendorShare } from '../vendors/vendor-route.rules.js';
import { withFewPlatforms, withTargeted } from './delivery-counts.rules.js';
import { countTargeted, routed, type VendorDispatch } from './installation-scan.js';
import type { LaneLease, LanePush, LanesRepository, TurnEnd } from './lanes.repository.js';
import {
  EXPIRED,
  FAILURE_DELAY_SECONDS,
  failureOf,
  pauseWhileUnavailable,
  type PushDelivery,
} from './push-delivery.js';

const SLOTS = 16;
/** Without a free slot, a lane gives way after this time. */
const TURN_MS = 1_000;
/** Pushes of a lane whose devices are searched at once; their queues are written in order. */
const GROUP = 32;
/** Each uses a database connection. */
const SEARCHES = 4;
/** Badges per group, about: registrations of their devices wait while a group is recorded. */
const MAX_BADGES = 500;
const MAX_DEVICES = 2_000;
/** A push is large as well if the search for its devices takes longer. */
const SEARCH_TIMEOUT_MS = 250;
const FIRST_WAIT_MS = 5;
const LONGEST_WAIT_MS = 100;
/** A lane that gives way while a dependency is unavailable is free again after this time. */
const RETRY_SECONDS = 5;

export interface LaneTools {
  readonly lanes: LanesRepository;
  readonly installations: InstallationScanRepository;
  readonly delivery: PushDelivery;
  readonly vendors: VendorDispatch;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'pushDevices' | 'pushRuns'>;
  readonly logger: Logger;
  readonly onLarge: () => void;
}

/** Processes the pushes of applications in the order of their acceptance (ADR 34). */
export function laneWorker(tools: LaneTools): LeasedWorker<LaneLease> {
  const backoff = new Backoff(LONGEST_WAIT_MS, FIRST_WAIT_MS);
  /** The wait for lanes of other processes that have waiting pushes. */
  let waitMs = Infinity;
  return new LeasedWorker<LaneLease>({
    slots: () => SLOTS,
    claim: async (limit) => {
      const { claimed, areOthersWaiting } = await tools.lanes.claim(limit, randomUUID());
      if (!areOthersWaiting) backoff.reset();
      waitMs = areOthersWaiting ? backoff.next() : Infinity;
      return { claimed, isMoreDue: claimed.length === limit };
    },
    renew: (held) => tools.lanes.renew(held),
    maxWaitMs: () => waitMs,
    work: (lane, isFull) => new LaneRun(lane, tools, isFull).run(),
    abandoned: ({ appId }) => [`pushes of ${appId} wait until the lease of their lane expires`],
    logger: tools.logger,
    claiming: 'claiming pushes',
  });
}

interface Turn {
  readonly push: LanePush;
  readonly installations: readonly TargetedInstallation[];
  readonly end: TurnEnd;
  readonly share?: VendorShare | undefined;
  readonly wakeUp?: WakeUp;
}

class LaneRun {
  readonly #signal: AbortSignal;
  readonly #backoff = new Backoff();
  readonly #turnEnd = performance.now() + TURN_MS;
  #isRepeated: boolean;

  constructor(
    private readonly lane: Held<LaneLease>,
    private readonly tools: LaneTools,
    private readonly areOthersWaiting: () => boolean,
  ) {
    this.#signal = lane.stop.signal;
    this.#isRepeated = lane.isTakenOver;
  }

  async run(): Promise<void> {
    const { lanes } = this.tools;
    while (!this.#isStopping()) {
      const hasEnded = await this.#group().catch((error: unknown) => this.#pauseAfter(error));
      if (hasEnded) return;
      if (this.#shouldYield() && !this.#isStopping())
        return this.#isRepeated ? lanes.release(this.lane, RETRY_SECONDS) : lanes.yield(this.lane);
    }
    // After a stop, no connector or not every connector may know of the last group: the next holder repeats it.
    await lanes.release(this.lane, 0);
  }

  async #group(): Promise<boolean> {
    const pushes = await this.tools.lanes.findPushes(this.lane, GROUP);
    const turns = await this.#searchAll(pushes);
    const ended: Turn[] = [];
    for (const turn of turns) if (!this.#isStopping()) ended.push(await this.#enqueue(turn));
    await this.#wake(ended.flatMap(({ wakeUp }) => wakeUp ?? []));
    return this.#isStopping() ? false : this.#finish(ended);
  }

  #shouldYield(): boolean {
    return performance.now() >= this.#turnEnd && this.areOthersWaiting();
  }

  #isStopping(): boolean {
    return this.#signal.aborted;
  }

  async #finish(turns: readonly Turn[]): Promise<boolean> {
    const ends = turns.map(({ end }) => end);
    const shares = turns.flatMap(({ share }) => share ?? []);
    const state = await this.tools.lanes.finish(this.lane, ends, shares);
    if (state === 'lost') return true;
    if (shares.length > 0) this.tools.vendors.batchesAdded();
    this.#isRepeated = false;
    this.#backoff.reset();
    for (const turn of turns) this.#count(turn);
    return state === 'released';
  }

  async #searchAll(pushes: readonly LanePush[]): Promise<readonly Turn[]> {
    const turns: Turn[] = [];
    for (const some of chunksOf(pushes, SEARCHES)) {
      turns.push(...(await Promise.all(some.map((push) => this.#search(push)))));
      const count = countWithFewBadges(turns);
      if (count < turns.length) return turns.slice(0, count);
    }
    return turns;
  }

  async #search(push: LanePush): Promise<Turn> {
    const { clock, vendors } = this.tools;
    const { objectId, failures } = push;
    const without = (end: TurnEnd): Turn => ({ push, installations: [], end });
    if (clock.now() >= push.expiresAt) return without({ objectId, status: 'error', error: EXPIRED });
    try {
      const found = await this.#find(push);
      if (found === undefined) return without({ objectId, status: 'large', failures, delaySeconds: 0 });
      const { installations, share } = await routed(push, withFewPlatforms(push.counts, found), {
        vendors,
        isBulk: false,
      });
      const counts = withTargeted(push.counts, installations);
      return { push, installations, share, end: { objectId, status: 'done', counts } };
    } catch (error) {
      return without(this.#endOf(push, error));
    }
  }

  #find(push: LanePush): Promise<TargetedInstallation[] | undefined> {
    // Later pushes do not wait for one that is slow on purpose.
    if (push.flowControl !== null) return Promise.resolve(undefined);
    return this.tools.installations.findFew(push, MAX_DEVICES, SEARCH_TIMEOUT_MS);
  }

  /** A push that fails for a reason of its own does not delay the others. */
  #endOf({ objectId, requestId, failures }: LanePush, error: unknown): TurnEnd {
    if (isAppError(error, 'SERVICE_UNAVAILABLE')) throw error;
    this.tools.logger.warn(`push ${objectId} failed, attempt ${failures + 1}: ${messageOf(error)}`, { requestId });
    const { isFinal, text } = failureOf(error);
    if (isFinal) return { objectId, status: 'error', error: text };
    return { objectId, status: 'large', failures: failures + 1, delaySeconds: FAILURE_DELAY_SECONDS };
  }

  async #enqueue(turn: Turn): Promise<Turn> {
    const { push, installations, end } = turn;
    if (end.status !== 'done') return turn;
    const { appId, objectId, traceparent } = push;
    const attributes = {
      'gatepost.app.id': appId,
      'gatepost.push.id': objectId,
      'gatepost.push.resumed': this.#isRepeated,
      'gatepost.push.devices': installations.length,
    };
    try {
      const wakeUp = await continueTrace(traceparent, { name: 'push', attributes }, () =>
        this.tools.delivery.enqueue(push, installations, this.#isRepeated),
      );
      return { ...turn, wakeUp };
    } catch (error) {
      return { push, installations: [], end: this.#endOf(push, error) };
    }
  }

  /** The span is part of the first push's trace; each connector continues the traces of all. */
  #wake(wakeUps: readonly WakeUp[]): Promise<void> {
    const span = { name: 'push wake-ups', attributes: { 'gatepost.push.count': wakeUps.length } };
    return continueTrace(wakeUps[0]?.traceparent, span, () =>
      this.tools.delivery.wake(wakeUps, {
        isBulk: false,
        signal: this.#signal,
        shouldYield: () => this.#shouldYield(),
      }),
    );
  }

  #count({ installations, end }: Turn): void {
    const { metrics, onLarge } = this.tools;
    if (end.status === 'large') onLarge();
    else metrics.pushRuns.inc({ kind: 'small', outcome: end.status === 'done' ? 'done' : 'failed' });
    countTargeted(metrics, installations);
  }

  async #pauseAfter(error: unknown): Promise<false> {
    await pauseWhileUnavailable(error, {
      backoff: this.#backoff,
      signal: this.#signal,
      shouldYield: () => this.#shouldYield(),
      log: (text) => {
        this.tools.logger.debug(`the lane of ${this.lane.appId} ${text}`);
      },
    });
    this.#isRepeated = true;
    return false;
  }
}

function countWithFewBadges(turns: readonly Turn[]): number {
  let badges = 0;
  const last = turns.findIndex(({ share }) => {
    badges += share === undefined ? 0 : badgesOf(share).length;
    return badges >= MAX_BADGES;
  });
  return last < 0 ? turns.length : last + 1;
}

import type { Logger } from '@nestjs/common';
import type { Vendor } from '#contracts';
import { messageOf } from '#errors';
import type { Metrics } from '#observability';
import { SendWindow } from './send-window.js';
import {
  countAnswers,
  isFinal,
  type LaneAnswers,
  MAX_REQUESTED_BACK_OFF_MS,
  type TargetOutcome,
} from './settlement.rules.js';
import type { Outcome, VendorChannel, VendorPush, VendorTarget } from './vendor-channel.rules.js';

const RESPONSIVE_MS = 5_000;
const MAX_FAILURES = 5;
const FAILURE_BACK_OFF_MS = { first: 1_000, longest: 30_000 };
const CREDENTIALS_BACK_OFF_MS = { first: 60_000, longest: 15 * 60_000 };
/** The end of a pause wakes the senders earlier. */
const PAUSE_MS = 5 * 60_000;
const PAUSED = 'paused';
const REPORT_INTERVAL_MS = 1_000;

interface LaneTools {
  readonly requests: Metrics['vendorRequests'];
  readonly logger: Logger;
  readonly window: number;
}

interface SendOptions {
  readonly isUrgent: boolean;
  readonly signal: AbortSignal;
  readonly isExpired: () => boolean;
}

/** One application's connection to one vendor. It limits concurrent requests, and backs off after failures independently of other lanes. */
export class VendorLane {
  readonly #window: SendWindow;
  #isPaused = false;
  #isClosed = false;
  #answers = { answers: 0, good: 0 };
  #reportedAt = -Infinity;
  #backOffUntil = 0;
  #backOffReason = '';
  #lastBackOffMs = 0;
  #failures = 0;
  #answeredAt = -Infinity;

  constructor(
    readonly name: string,
    readonly vendor: Vendor,
    readonly version: number,
    readonly channel: VendorChannel,
    private readonly tools: LaneTools,
  ) {
    this.#window = new SendWindow(tools.window);
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** A paused lane is looked at again after the time. New credentials, in another lane, need no back-off. */
  get backOffMs(): number {
    if (this.#isClosed) return 0;
    return Math.max(this.#isPaused ? PAUSE_MS : 0, this.#backOffUntil - performance.now());
  }

  /** The vendor has answered lately. Where devices choose their servers, one server says nothing about the others. */
  get isResponsive(): boolean {
    return this.channel.devicesChooseServer === true || performance.now() - this.#answeredAt < RESPONSIVE_MS;
  }

  async send(push: VendorPush, targets: readonly VendorTarget[], options: SendOptions): Promise<readonly Outcome[]> {
    await this.#window.enter(options.isUrgent);
    try {
      const reason = this.#reasonNotToSend(options);
      if (reason !== undefined) return targets.map(() => ({ kind: 'waiting', reason }));
      const end = this.tools.requests.startTimer({ vendor: this.vendor });
      const outcomes = await this.#sendSafely(push, targets);
      this.#recordOutcomes(outcomes, end());
      return outcomes;
    } finally {
      this.#window.leave();
    }
  }

  /** The report is due each second, and at once with a doubtful answer. */
  takeAnswerReport(results: readonly TargetOutcome[]): LaneAnswers | undefined {
    const { answers, good, doubtful } = countAnswers(results);
    const sum = { version: this.version, answers: this.#answers.answers + answers, good: this.#answers.good + good };
    const now = performance.now();
    const isDue = sum.answers > 0 && now - this.#reportedAt >= REPORT_INTERVAL_MS;
    this.#answers = doubtful > 0 || isDue ? { answers: 0, good: 0 } : sum;
    if (doubtful === 0 && !isDue) return undefined;
    this.#reportedAt = now;
    return { ...sum, doubtful };
  }

  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
  }

  close(): void {
    this.#isClosed = true;
    this.channel.close();
  }

  #reasonNotToSend({ signal, isExpired }: SendOptions): string | undefined {
    if (signal.aborted) return 'the process stops';
    if (this.#isClosed) return 'the credentials have changed';
    if (this.#isPaused) return PAUSED;
    if (isExpired()) return 'expired';
    return this.backOffMs > 0 ? this.#backOffReason : undefined;
  }

  /** A defect must not repeat the other devices of the batch again and again. */
  async #sendSafely(push: VendorPush, targets: readonly VendorTarget[]): Promise<readonly Outcome[]> {
    try {
      return await this.channel.send(push, targets);
    } catch (error) {
      this.tools.logger.error(`${this.name}: push ${push.objectId} could not be sent: ${messageOf(error)}`);
      return targets.map(() => ({ kind: 'rejected', reason: 'internal error' }));
    }
  }

  /** A request counts once: its worst outcome decides. */
  #recordOutcomes(outcomes: readonly Outcome[], seconds: number): void {
    if (this.#isClosed) return;
    const refused = outcomes.find(({ kind }) => kind === 'credentials');
    const failures = outcomes.filter(isLaneFailure);
    const [worst] = failures.toSorted((one, other) => requestedMs(other) - requestedMs(one));
    if (refused?.kind === 'credentials') this.#backOff(refused.reason, CREDENTIALS_BACK_OFF_MS);
    else if (worst !== undefined) this.#recordFailure(worst);
    else if (outcomes.some(isFinal))
      this.#recordSuccess(outcomes.some(({ kind }) => kind === 'accepted') ? seconds : undefined);
  }

  /** A late answer to an earlier request does not show that the vendor is back. */
  #recordSuccess(seconds: number | undefined): void {
    if (this.backOffMs > 0) return;
    this.#failures = 0;
    this.#answeredAt = performance.now();
    this.#lastBackOffMs = 0;
    this.#window.grow(seconds);
  }

  #recordFailure(outcome: FailureOutcome): void {
    this.#window.shrink();
    this.#answeredAt = -Infinity;
    this.#failures += 1;
    const { reason } = outcome;
    const backOffMs = requestedMs(outcome);
    if (backOffMs > 0) this.#backOffFor(Math.min(backOffMs, MAX_REQUESTED_BACK_OFF_MS), reason);
    else if (this.#failures >= MAX_FAILURES) this.#backOff(reason, FAILURE_BACK_OFF_MS);
  }

  /** Requests that fail at the same time start one back-off. */
  #backOff(reason: string, { first, longest }: { first: number; longest: number }): void {
    if (this.backOffMs > 0) return;
    if (this.#lastBackOffMs === 0) this.tools.logger.warn(`${this.name} backs off, its pushes wait: ${reason}`);
    this.#lastBackOffMs = Math.min(longest, Math.max(first, 2 * this.#lastBackOffMs));
    this.#backOffFor(this.#lastBackOffMs, reason);
  }

  #backOffFor(ms: number, reason: string): void {
    this.#backOffUntil = Math.max(this.#backOffUntil, performance.now() + ms);
    this.#backOffReason = reason;
    this.#answeredAt = -Infinity;
    // One request finds out whether the vendor is back.
    this.#window.reset();
  }
}

type FailureOutcome = Extract<Outcome, { readonly kind: 'later' | 'unsure' }>;

function requestedMs({ backOffMs = 0 }: FailureOutcome): number {
  return backOffMs;
}

function isLaneFailure(outcome: Outcome): outcome is FailureOutcome {
  return 'scope' in outcome && outcome.scope === 'lane';
}

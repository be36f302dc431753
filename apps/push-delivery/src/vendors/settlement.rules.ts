import type { Outcome, VendorTarget } from './vendor-channel.rules.js';

/** `target` is absent where the installation has lost its token for the vendor. */
export interface TargetOutcome {
  readonly objectId: string;
  readonly badge: number | null;
  readonly target?: VendorTarget;
  readonly outcome: Outcome;
}

export interface DeadToken {
  readonly objectId: string;
  readonly token: string;
  readonly reason: string;
  readonly since: Date | null;
  readonly isDoubtful: boolean;
}

export interface Settlement {
  /** `doubtful`: invalid or rejected, as the doubt about the lane decides. */
  readonly counts: Readonly<Record<'accepted' | 'invalid' | 'doubtful' | 'rejected' | 'expired', number>>;
  readonly reasons: Readonly<Record<string, number>>;
  readonly doubtfulReasons: Readonly<Record<string, number>>;
  readonly dead: readonly DeadToken[];
  readonly proven: readonly string[];
  readonly remaining: readonly { readonly objectId: string; readonly badge: number | null }[];
  readonly delayMs: number;
  readonly isAttempt: boolean;
  /** The vendor has answered that it has not taken them. */
  readonly isAnswered: boolean;
}

/** After the first, second, … attempt without a result. */
const BACK_OFF_MS = [1_000, 4_000, 15_000, 60_000, 300_000, 900_000];

export const MAX_REQUESTED_BACK_OFF_MS = 10 * 60_000;

const LAST_ATTEMPT_MS = 2_000;

interface Circumstances {
  readonly attempt: number;
  readonly now: Date;
  readonly endsAt: Date;
  readonly backOffMs: number;
  /** From 0 to 1, so that batches do not return at once. */
  readonly random: number;
}

export function settlementOf(
  results: readonly TargetOutcome[],
  { attempt, now, endsAt, backOffMs, random }: Circumstances,
): Settlement {
  const open = results.filter(({ outcome }) => !isFinal(outcome));
  const isAttempt = open.some(({ outcome }) => outcome.kind !== 'waiting');
  const lastChanceMs = endsAt.getTime() - now.getTime() - LAST_ATTEMPT_MS;
  const hasNoTimeLeft = lastChanceMs <= 0;
  const attemptDelayMs = isAttempt ? backOff(attempt) * (0.8 + 0.4 * random) : 0;
  const delayMs = Math.round(Math.min(Math.max(attemptDelayMs, backOffMs, backOffOf(open)), Math.max(0, lastChanceMs)));
  const settled = hasNoTimeLeft ? results : results.filter(({ outcome }) => isFinal(outcome));
  const doubtful = results.filter(({ outcome }) => isDoubtful(outcome));
  return {
    counts: {
      accepted: countOf(results, 'accepted'),
      invalid: countOf(results, 'invalid') - doubtful.length,
      doubtful: doubtful.length,
      rejected: countOf(results, 'rejected'),
      expired: hasNoTimeLeft ? open.length : 0,
    },
    reasons: reasonsOf(settled.map(({ outcome }) => outcome).filter((outcome) => !isDoubtful(outcome))),
    doubtfulReasons: reasonsOf(doubtful.map(({ outcome }) => outcome)),
    dead: results.flatMap(deadToken),
    proven: results.filter(({ outcome }) => outcome.kind === 'accepted').map(({ objectId }) => objectId),
    remaining: hasNoTimeLeft ? [] : open.map(({ objectId, badge }) => ({ objectId, badge })),
    delayMs,
    isAttempt,
    isAnswered: open.some(({ outcome }) => outcome.kind === 'later' || outcome.kind === 'credentials'),
  };
}

export function isDoubtful(outcome: Outcome): boolean {
  return outcome.kind === 'invalid' && outcome.isDoubtful === true;
}

export function isFinal({ kind }: Outcome): boolean {
  return kind === 'accepted' || kind === 'invalid' || kind === 'rejected';
}

export interface LaneAnswers {
  readonly version: number;
  readonly answers: number;
  /** Answers that only the right credentials can have. */
  readonly good: number;
  /** Tokens that wrong credentials would make invalid as well. */
  readonly doubtful: number;
}

export function countAnswers(results: readonly TargetOutcome[]): Omit<LaneAnswers, 'version'> {
  const counts = { answers: 0, good: 0, doubtful: 0 };
  for (const { outcome, target } of results) {
    if (target === undefined || !isFinal(outcome)) continue;
    counts.answers += 1;
    if (isDoubtful(outcome)) counts.doubtful += 1;
    else if (outcome.kind !== 'rejected') counts.good += 1;
  }
  return counts;
}

function backOffOf(open: readonly TargetOutcome[]): number {
  const backOffs = open.map(({ outcome }) => ('backOffMs' in outcome ? (outcome.backOffMs ?? 0) : 0));
  const areApart = open.length > 0 && open.every(({ outcome }) => sparesOthers(outcome));
  return Math.min(MAX_REQUESTED_BACK_OFF_MS, areApart ? Math.min(...backOffs) : Math.max(0, ...backOffs));
}

/** Other devices have other servers. */
function sparesOthers(outcome: Outcome): boolean {
  if ('scope' in outcome) return outcome.scope === 'device';
  return outcome.kind === 'waiting' && 'backOffMs' in outcome;
}

function backOff(attempt: number): number {
  return BACK_OFF_MS[Math.min(attempt, BACK_OFF_MS.length - 1)] ?? 0;
}

function countOf(results: readonly TargetOutcome[], kind: Outcome['kind']): number {
  return results.filter(({ outcome }) => outcome.kind === kind).length;
}

function reasonsOf(outcomes: readonly Outcome[]): Record<string, number> {
  const reasons = new Map<string, number>();
  for (const outcome of outcomes)
    if (outcome.kind !== 'accepted') reasons.set(outcome.reason, (reasons.get(outcome.reason) ?? 0) + 1);
  return Object.fromEntries(reasons);
}

function deadToken({ objectId, target, outcome }: TargetOutcome): DeadToken[] {
  if (outcome.kind !== 'invalid' || target === undefined) return [];
  const { reason, since = null } = outcome;
  return [{ objectId, token: target.token, reason, since, isDoubtful: isDoubtful(outcome) }];
}

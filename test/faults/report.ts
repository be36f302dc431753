import type { MailAccount } from '../load/account.js';
import type { DeviceFleet } from '../load/device-fleet.js';
import type { MixedLoad } from '../load/mixed-load.js';
import type { FaultInjector, InjectedFault } from './fault-injector.js';

/** Longer than any request may take: the deadline of asking who asks, that of a password, and a busy machine. */
const ANSWERED_MS = 18_000;
/** A gateway's connections may break a little before or after we know that it is gone. */
const AROUND_MS = 1_000;

/** Of each kind, far fewer than 15 seconds of random faults bring: a load that stood still proves nothing. */
const LEAST_ANSWERED = {
  'sign-up': 200,
  'verification mail': 100,
  login: 50,
  'wrong password': 50,
  update: 100,
  'session read': 50,
  'anonymous sign-up': 50,
  'verification link': 50,
  'reset mail': 20,
  'reset link': 20,
  push: 50,
};

/** Each kind of request of which too few were answered. */
export function tooFew({ requests }: MixedLoad): string[] {
  return Object.entries(LEAST_ANSWERED).flatMap(([kind, least]) => {
    const { acknowledged = 0, refused = 0 } = requests.counts.get(kind) ?? {};
    const answered = acknowledged + refused;
    return answered >= least ? [] : [`${kind}: ${answered} answered, and ${least} were to be`];
  });
}

/** Each request that was not answered for no good reason: before the first fault, in calm, too late, or cut though no gateway was killed. */
export function unexplained(load: MixedLoad, injected: readonly InjectedFault[], calmAt: number): string[] {
  const first = injected[0]?.from ?? Infinity;
  const gateways = injected.filter(({ target }) => target === 'gateway');
  return load.requests.unanswered.flatMap(({ kind, how, startedAt, endedAt }) => {
    const durationMs = Math.round(endedAt - startedAt);
    if (endedAt < first) return [`${kind}: ${how} before the first fault`];
    if (startedAt >= calmAt) return [`${kind}: ${how} when all was calm`];
    if (durationMs > ANSWERED_MS) return [`${kind}: ${how} after ${durationMs} ms`];
    const isKill = gateways.some(({ from }) => startedAt < from + AROUND_MS && endedAt > from - AROUND_MS);
    return how === 'cut' && !isKill ? [`${kind}: cut after ${durationMs} ms`] : [];
  });
}

interface Reported {
  readonly load: MixedLoad;
  readonly fleet: DeviceFleet;
  readonly injector: FaultInjector;
  readonly mails: MailAccount;
}

/** The figures of the run. */
export function report({ load, fleet, injector, mails }: Reported): string {
  const { requests, pushes } = load;
  const unanswered = requests.unanswered.map(({ startedAt, endedAt }) => endedAt - startedAt);
  const recoveries = injector.recoveries.map((ms) => ms / 1_000);
  const kinds = [...requests.counts].map(
    ([kind, { acknowledged, refused, unknown }]) => `  ${kind}: ${acknowledged + refused} answered, ${unknown} unknown`,
  );
  return [
    `${requests.sent} requests, ${load.requestsPerSecond} per second:`,
    ...kinds,
    `  unknown: ${unanswered.length}, the slowest after ${quantile(unanswered, 1).toFixed(0)} ms`,
    `${load.users.length} users; mails: ${mails.owed} owed, ${mails.sent} sent, ${mails.repeated} of them twice`,
    `pushes: ${pushes.acknowledged.length} acknowledged, ${pushes.unknown.length} unknown, to ${fleet.size} devices`,
    `${injector.injected.length} injected faults; all well after: median ${quantile(recoveries, 0.5).toFixed(1)} s, at most ${quantile(recoveries, 1).toFixed(1)} s`,
  ].join('\n');
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

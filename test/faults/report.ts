import type { MailAccount } from '../load/account.js';
import type { DeviceFleet } from '../load/device-fleet.js';
import type { MixedLoad } from '../load/mixed-load.js';

import type { Strikes, Struck } from './strikes.js';

/** Longer than any request may take: the deadline of asking who asks, that of a password, and a busy machine. */
const ANSWERED_MS = 18_000;
/** A gateway's connections may break a little before or after we know that it is gone. */
const AROUND_MS = 1_000;

/** Each request that was not answered for no good reason: too late, or cut though no gateway was killed. */
export function unexplained(load: MixedLoad, struck: readonly Struck[]): string[] {
  const gateways = struck.filter(({ target }) => target === 'gateway');
  return load.requests.unanswered.flatMap(({ kind, how, startedAt, endedAt }) => {
    const durationMs = Math.round(endedAt - startedAt);
    if (durationMs > ANSWERED_MS) return [`${kind}: 503 after ${durationMs} ms`];
    const isKill = gateways.some(({ from }) => startedAt < from + AROUND_MS && endedAt > from - AROUND_MS);
    return how === 'cut' && !isKill ? [`${kind}: cut after ${durationMs} ms`] : [];
  });
}

interface Reported {
  readonly load: MixedLoad;
  readonly fleet: DeviceFleet;
  readonly strikes: Strikes;
  readonly mails: MailAccount;
}

/** What happened, in figures. */
export function report({ load, fleet, strikes, mails }: Reported): string {
  const { requests, pushes } = load;
  const unanswered = requests.unanswered.map(({ startedAt, endedAt }) => endedAt - startedAt);
  const recoveries = strikes.recoveries.map((ms) => ms / 1_000);
  const kinds = [...requests.counts].map(
    ([kind, { acknowledged, refused, unknown }]) => `  ${kind}: ${acknowledged + refused} answered, ${unknown} unknown`,
  );
  return [
    `${requests.sent} requests, ${load.requestsPerSecond} per second:`,
    ...kinds,
    `  unknown: ${unanswered.length}, the slowest after ${quantile(unanswered, 1).toFixed(0)} ms`,
    `${load.people.length} people; mails: ${mails.owed} owed, ${mails.sent} sent, ${mails.repeated} of them twice`,
    `pushes: ${pushes.acknowledged.length} acknowledged, ${pushes.unknown.length} unknown, to ${fleet.size} devices`,
    `${strikes.made.length} strikes; all well after: median ${quantile(recoveries, 0.5).toFixed(1)} s, at most ${quantile(recoveries, 1).toFixed(1)} s`,
  ].join('\n');
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

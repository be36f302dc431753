// Prints what was measured of mails, and how it stands to the targets.
import { median } from '../load.mjs';

const MIN_PER_SECOND = 200;
const MAX_LATENCY_MS = 2_000;
const WATCHED_SHARE = 0.95;

export function printMailReport({ throughput, latencies }) {
  const rate = median(throughput.map(({ perSecond }) => perSecond));
  const bare = median(throughput.map((round) => round.bare));
  const doubled = throughput.reduce((sum, round) => sum + round.doubled, 0);
  const share = (part) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * part))];
  const rows = [
    [
      'mails/s of one process, where thousands wait',
      rate.toFixed(0),
      target(`≥ ${MIN_PER_SECOND}`, rate >= MIN_PER_SECOND),
    ],
    ['the same beside nodemailer alone', `${(rate / bare).toFixed(2)} of ${bare.toFixed(0)}/s`, ''],
    ['mails sent twice', doubled, target('0', doubled === 0)],
    ['from the answer to its mail, 50 %', `${share(0.5).toFixed(0)} ms`, ''],
    [
      '95 %',
      `${share(WATCHED_SHARE).toFixed(0)} ms`,
      target(`≤ ${MAX_LATENCY_MS} ms`, share(WATCHED_SHARE) <= MAX_LATENCY_MS),
    ],
    ['the slowest', `${latencies.at(-1).toFixed(0)} ms`, ''],
  ];
  out(`\n| mail, ${latencies.length} sign-ups at 20/s | measured | target |`);
  out('|---|---|---|');
  for (const row of rows) out(`| ${row.join(' | ')} |`);
}

function target(text, isMet) {
  return `${text} ${isMet ? 'met' : 'MISSED'}`;
}

function out(line) {
  process.stdout.write(`${line}\n`);
}

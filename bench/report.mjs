// Prints what was measured, and how it stands to the targets.
import { availableParallelism, cpus } from 'node:os';
import bcrypt from 'bcrypt';
import { CASES } from './cases.mjs';

const MAX_LAG_MS = 50;
const MAX_IDLE_MB = 400;
/** Hashing is to use both cores fully: share of all cores while it runs. */
const MIN_BUSY = 0.9;
const HASH_SECONDS = 4;

export async function printReport({ names, results, contestants, longestLags, median }) {
  out(`\n${machine()}\n`);
  printRates({ names, results, median });
  printLag(names, longestLags);
  if (names.includes('login') || names.includes('signup'))
    out(`\nHash rate of all cores, bcrypt cost 10: ${(await hashRate()).toFixed(1)}/s`);
  const { idleMb: idle } = contestants.list.find(({ kind }) => kind === 'standalone');
  const target = `target < ${MAX_IDLE_MB}: ${verdict(idle < MAX_IDLE_MB)}`;
  out(`\nStandalone, idle, database included: ${idle.toFixed(0)} MB (${target})`);
}

function out(line) {
  process.stdout.write(`${line}\n`);
}

/** For a table of targets. */
export function verdict(isMet) {
  return isMet ? 'met' : 'MISSED';
}

/** The machine and time of the measurement. */
export function machine() {
  const processor = cpus()[0]?.model ?? 'unknown processor';
  const today = new Date().toISOString().slice(0, 10);
  return `${processor} (${availableParallelism()}), Node ${process.versions.node}, ${today}`;
}

function printRates({ names, results, median }) {
  out('| case | server | requests/s | ratio | target | p50 ms | p99 ms | not 2xx | cores busy |');
  out('|---|---|---|---|---|---|---|---|---|');
  for (const name of names) {
    const ofCase = results.filter((row) => row.name === name);
    for (const kind of CASES[name].entrants) out(rateLine({ name, kind, ofCase, median }));
  }
}

function rateLine({ name, kind, ofCase, median }) {
  const medianOf = (wanted, field) => median(ofCase.filter((row) => row.kind === wanted).map((row) => row[field]));
  const rate = medianOf(kind, 'perSecond');
  const { beside } = CASES[name];
  const isCompared = beside !== undefined || (kind !== 'bare' && ofCase.some((row) => row.kind === 'bare'));
  const yardstick = () => (beside === undefined ? medianOf('bare', 'perSecond') : medianOf(kind, 'besidePerSecond'));
  const ratio = isCompared ? rate / yardstick() : undefined;
  const ratioText = ratio === undefined ? '' : `${ratio.toFixed(2)} of ${beside ?? 'bare'}`;
  const result = compare({ ...CASES[name], ratio, kind, p50: medianOf(kind, 'p50') });
  const others = ofCase.filter((row) => row.kind === kind).reduce((sum, row) => sum + row.others, 0);
  const latencies = `${medianOf(kind, 'p50').toFixed(1)} | ${medianOf(kind, 'p99').toFixed(1)}`;
  return `| ${name} | ${kind} | ${rate.toFixed(0)} | ${ratioText} | ${result} | ${latencies} | ${others} | ${busyText(CASES[name], medianOf(kind, 'busy'))} |`;
}

function compare({ target, maxP50Ms, ratio, kind, p50 }) {
  if (maxP50Ms !== undefined) return `p50 ≤ ${maxP50Ms} ms ${verdict(p50 <= maxP50Ms)}`;
  return target[kind] === undefined ? '' : `≥ ${target[kind].toFixed(2)} ${verdict(ratio >= target[kind])}`;
}

function busyText({ watchesLag }, busy) {
  const percent = `${(busy * 100).toFixed(0)} %`;
  return watchesLag ? `${percent}, ≥ 90 %: ${verdict(busy >= MIN_BUSY)}` : percent;
}

function printLag(names, longestLags) {
  if (!names.some((name) => CASES[name].watchesLag)) return;
  out('\n| process | longest event-loop lag while hashing, ms | target |');
  out('|---|---|---|');
  for (const [process, lagMs] of longestLags)
    out(`| ${process} | ${lagMs.toFixed(0)} | ≤ ${MAX_LAG_MS} ${verdict(lagMs <= MAX_LAG_MS)} |`);
}

/** The hash rate of the machine: as many hashes at once as there are cores, with nothing else running. */
export async function hashRate() {
  const end = Date.now() + HASH_SECONDS * 1000;
  const worker = async () => {
    let count = 0;
    for (; Date.now() < end; count += 1) await bcrypt.hash('password', 10);
    return count;
  };
  const counts = await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return counts.reduce((sum, count) => sum + count, 0) / HASH_SECONDS;
}

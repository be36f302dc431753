// Prints what was measured, and how it stands to the targets.
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import bcrypt from 'bcrypt';
import { CASES } from './cases.mjs';

const MAX_LAG_MS = 50;
const MAX_IDLE_MB = 400;
const HASH_SECONDS = 4;

export async function printReport({ names, results, contestants, median }) {
  const out = (line) => process.stdout.write(`${line}\n`);
  out(`\n${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}\n`);
  out('| case | server | requests/s | of bare | target | p50 ms | p99 ms | not 2xx |');
  out('|---|---|---|---|---|---|---|---|');
  for (const name of names) {
    const rowsOf = (kind) => results.filter((row) => row.name === name && row.kind === kind);
    const rate = (kind) => median(rowsOf(kind).map(({ perSecond }) => perSecond));
    for (const kind of CASES[name].entrants) {
      const rows = rowsOf(kind);
      const ratio = kind === 'bare' || rowsOf('bare').length === 0 ? undefined : rate(kind) / rate('bare');
      const target = CASES[name].target[kind];
      const verdict = target === undefined ? '' : `≥ ${target.toFixed(2)} ${ratio >= target ? 'met' : 'MISSED'}`;
      const others = rows.reduce((sum, row) => sum + row.others, 0);
      out(
        `| ${name} | ${kind} | ${rate(kind).toFixed(0)} | ${ratio?.toFixed(2) ?? ''} | ${verdict} | ${median(rows.map(({ p50 }) => p50))} | ${median(rows.map(({ p99 }) => p99))} | ${others} |`,
      );
    }
  }
  await printLag(out, names, contestants);
  if (names.includes('login') || names.includes('signup')) out(`\nHash rate of all cores, bcrypt cost 10: ${(await hashRate()).toFixed(1)}/s`);
  const idle = contestants.standaloneIdleMb;
  out(`\nStandalone, idle, database included: ${idle.toFixed(0)} MB resident (target < ${MAX_IDLE_MB}: ${idle < MAX_IDLE_MB ? 'met' : 'MISSED'})`);
}

async function printLag(out, names, contestants) {
  if (!names.some((name) => CASES[name].watchesLag)) return;
  out('\n| process | longest event-loop lag while hashing, ms | target |');
  out('|---|---|---|');
  for (const [process, lagMs] of await contestants.longestLags()) out(`| ${process} | ${lagMs.toFixed(0)} | ≤ ${MAX_LAG_MS} ${lagMs <= MAX_LAG_MS ? 'met' : 'MISSED'} |`);
}

/** What the machine can do at most: as many hashes at once as there are cores, nothing else running. */
async function hashRate() {
  const end = Date.now() + HASH_SECONDS * 1000;
  const worker = async () => {
    let count = 0;
    for (; Date.now() < end; count += 1) await bcrypt.hash('password', 10);
    return count;
  };
  const counts = await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return counts.reduce((sum, count) => sum + count, 0) / HASH_SECONDS;
}

/** Resident memory of a process and all its descendants, in MB (Linux). Shared pages count once per process. */
export function residentMb(rootPid) {
  const parents = new Map();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // The process ended meanwhile.
    }
  }
  const isBelow = (pid) => pid === rootPid || (parents.has(pid) && isBelow(parents.get(pid)));
  return [...parents.keys()].filter(isBelow).reduce((sum, pid) => sum + residentKb(pid), 0) / 1024;
}

function residentKb(pid) {
  const [, kb] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [0, 0];
  return Number(kb);
}

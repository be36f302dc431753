// Resource usage of processes, as reported by Linux.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const TICKS_PER_SECOND = 100;
const SAMPLE_MS = 100;
const QUIET_SAMPLE_MS = 250;
/** Of one core. */
const QUIET_SHARE = 0.2;
const QUIET_WITHIN_MS = 15_000;
const LISTENING = '0A';

/** Seconds of processor time that a process, all below it and those of them that have ended have used until now. */
export function processorSeconds({ pid }) {
  const ticks = processTree(pid).reduce((sum, one) => sum + ticksOf(one), 0);
  return ticks / TICKS_PER_SECOND;
}

/** Waits until processes and their children are idle, so that abandoned work is done, too. */
export async function untilQuiet(processes) {
  const used = () => processes.reduce((sum, one) => sum + processorSeconds(one), 0);
  const deadline = performance.now() + QUIET_WITHIN_MS;
  let [before, share] = [used(), 1];
  while (share > QUIET_SHARE && performance.now() < deadline) {
    await sleep(QUIET_SAMPLE_MS);
    const now = used();
    share = ((now - before) * 1000) / QUIET_SAMPLE_MS;
    before = now;
  }
}

/** Resident memory of one process in kB. */
export function residentKb({ pid }) {
  return Number(/^VmRSS:\s+(\d+)/m.exec(contentOf(pid, 'status'))?.[1] ?? 0);
}

/**
 * Memory of processes and their children in MB, independent of other processes: the pages of each, and the pages that the process that
 * shares most has in common with others, which is the program itself.
 */
export function memoryMb(processes) {
  const rollups = processes.flatMap(({ pid }) => processTree(pid)).map((pid) => contentOf(pid, 'smaps_rollup'));
  const kbOf = (rollup, kind) =>
    [...rollup.matchAll(new RegExp(`^${kind}_(?:Clean|Dirty):\\s+(\\d+)`, 'gm'))].reduce(
      (sum, [, kb]) => sum + Number(kb),
      0,
    );
  const own = rollups.reduce((sum, rollup) => sum + kbOf(rollup, 'Private'), 0);
  return (own + Math.max(0, ...rollups.map((rollup) => kbOf(rollup, 'Shared')))) / 1024;
}

/** The most memory that a process takes while `work` is done, in kB. */
export async function peakKbDuring(child, work) {
  let isDone = false;
  let peak = residentKb(child);
  const sampler = (async () => {
    while (!isDone) {
      peak = Math.max(peak, residentKb(child));
      await sleep(SAMPLE_MS);
    }
  })();
  try {
    await work();
  } finally {
    isDone = true;
    await sampler;
  }
  return peak;
}

/** The process of this machine that listens on a TCP port; undefined where there is none, or we may not see it. */
export function listener(port) {
  const sockets = ['tcp', 'tcp6'].flatMap((table) => listeningSockets(table, port));
  const pid = processIds().find((one) => hasSocket(one, sockets));
  return pid === undefined ? undefined : { pid };
}

function listeningSockets(table, port) {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync(`/proc/net/${table}`, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === LISTENING && local.endsWith(wanted))
    .map((fields) => `socket:[${fields[9]}]`);
}

function hasSocket(pid, sockets) {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => sockets.includes(readlinkSync(`/proc/${pid}/fd/${fd}`)));
  } catch {
    // The process ended in the meantime, or belongs to another user.
    return false;
  }
}

function processTree(rootPid) {
  const parents = new Map(processIds().map((pid) => [pid, Number(statOf(pid)[1])]));
  const isBelow = (pid) => pid === rootPid || (parents.has(pid) && isBelow(parents.get(pid)));
  return [...parents.keys()].filter(isBelow);
}

function processIds() {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);
}

/** Its own time and that of children that have ended. */
function ticksOf(pid) {
  const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = statOf(pid).slice(11, 15).map(Number);
  return user + system + childrenUser + childrenSystem;
}

/** The fields of its status from the third, its state, on. */
function statOf(pid) {
  const stat = contentOf(pid, 'stat');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Empty where the process has ended meanwhile. */
function contentOf(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

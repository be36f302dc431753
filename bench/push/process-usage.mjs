// What processes take, as Linux tells it.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const TICKS_PER_SECOND = 100;
const SAMPLE_MS = 100;

/** Seconds of processor time until now. */
export function processorSeconds({ pid }) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Resident memory in kB. */
export function residentKb({ pid }) {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
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

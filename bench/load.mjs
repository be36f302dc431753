// Load from a process of its own.
import { spawn } from 'node:child_process';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ROOT } from '../tools/prepare.mjs';
import { untilQuiet } from './process-usage.mjs';

const LOAD_PROCESS = join(ROOT, 'bench', 'load-process.mjs');
/** Until the engines have compiled what is hot: the slower a server, the longer it takes. */
const WARM_UP_SECONDS = 6;

export async function warmUp(benchCase, entrant) {
  await entrant.indexOnly?.(benchCase.index);
  await measure(benchCase, entrant, WARM_UP_SECONDS);
  await untilQuiet(entrant.processes);
}

/**
 * Keeps so many requests in flight for so many seconds. Requests per second and latencies (milliseconds: `p50`, `p99`, `longest`) are of
 * answers with 2xx; `others` counts the rest, `shed` those of them with 503.
 */
export async function measure({ connections, requests, leastSeconds = 0 }, entrant, seconds) {
  const before = processorTimes();
  const result = await generateLoad({
    url: entrant.url,
    connections,
    duration: Math.max(seconds, leastSeconds),
    requests: requests(entrant).map(({ path, method = 'GET', headers, body }) => ({
      path,
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })),
  });
  return { ...result, busy: busyShare(before, processorTimes()) };
}

async function generateLoad(options) {
  const child = spawn(process.execPath, [LOAD_PROCESS], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(options));
  const output = await text(child.stdout);
  if (output === '') throw new Error('the load generator ended without a result');
  return JSON.parse(output);
}

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function processorTimes() {
  const times = cpus().map(({ times }) => times);
  const sum = (pick) => times.reduce((total, time) => total + pick(time), 0);
  return {
    idle: sum(({ idle }) => idle),
    all: sum(({ user, nice, sys, idle, irq }) => user + nice + sys + idle + irq),
  };
}

/** How much of all cores was used meanwhile, by whatever process, from 0 to 1. */
function busyShare(before, after) {
  return 1 - (after.idle - before.idle) / (after.all - before.all);
}

// Load from a process of its own: autocannon's command line, its result as JSON.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../tools/prepare.mjs';

const AUTOCANNON = join(ROOT, 'node_modules', 'autocannon', 'autocannon.js');
/** Until the engines have compiled what is hot: the slower a server, the longer it takes. */
const WARM_UP_SECONDS = 6;

export const warmUp = (benchCase, entrant) => measure(benchCase, entrant, WARM_UP_SECONDS);

/** Requests per second, latencies in milliseconds, and how many answers were not 2xx. */
export async function measure({ connections, request }, entrant, seconds) {
  const { requests, ...only } = request(entrant);
  const folder = mkdtempSync(join(tmpdir(), 'gatepost-load-'));
  const what = requests === undefined ? oneRequest(only, entrant) : manyRequests(requests, entrant, folder);
  const before = processorTimes();
  const options = ['-j', '-c', String(connections), '-d', String(seconds)];
  const result = JSON.parse(await output(process.execPath, [AUTOCANNON, ...options, ...what]));
  const busy = busyShare(before, processorTimes());
  rmSync(folder, { recursive: true });
  return {
    perSecond: result['2xx'] / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    others: result.non2xx + result.errors,
    busy,
  };
}

function oneRequest({ path, method = 'GET', body, headers }, entrant) {
  const payload = body === undefined ? [] : ['-b', JSON.stringify(body), '-I'];
  const pairs = Object.entries(withContentType(headers ?? entrant.headers));
  return [
    '-m',
    method,
    ...pairs.flatMap(([name, value]) => ['-H', `${name}=${value}`]),
    ...payload,
    `${entrant.url}${path}`,
  ];
}

/** Requests that every connection sends in turn, as a HAR file. */
function manyRequests(requests, entrant, folder) {
  const headers = Object.entries(withContentType(entrant.headers)).map(([name, value]) => ({ name, value }));
  const entries = requests.map(({ path, method, body }) => ({
    request: { method, url: `${entrant.url}${path}`, headers, postData: { text: JSON.stringify(body) } },
  }));
  const file = join(folder, 'requests.har');
  writeFileSync(file, JSON.stringify({ log: { entries } }));
  return ['--har', file, entrant.url];
}

function withContentType(headers) {
  return { 'content-type': 'application/json', ...headers };
}

function output(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    child.once('error', reject);
    child.once('exit', (code) =>
      code === 0 ? resolve(text) : reject(new Error(`the load generator ended with ${code}`)),
    );
  });
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

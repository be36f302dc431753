import { existsSync, readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type GatepostServer } from '#testing';
import { InspectedProcess } from './inspected-process.js';

const ROUND_MS = 500;
const HEALTH_DEADLINE_MS = 10_000;
/** So long a process may be kept from answering, on a machine whose processors it shares with its attackers. */
const MAX_SILENCE_MS = 1_500;
const NANOSECONDS = 1e6;
const MEGABYTE = 1_048_576;
/** Pools and bounded caches that are not full yet in the last part of a run. */
const MAX_GROWTH_BYTES = 1.5 * MEGABYTE;
/** Memory that a request may leave behind in the process that handled it: less than any data kept of it. */
const MAX_BYTES_PER_REQUEST = 150;
/** Pages that the allocator keeps: the heap that is in use decides, this only bounds it. */
const MAX_RESIDENT_GROWTH = 1.6;
const MAX_RESIDENT_BYTES = 16 * MEGABYTE;

interface Watched {
  readonly name: string;
  readonly pid: number;
  readonly healthUrl: string;
  readonly metricsUrl: string;
  readonly inspected: InspectedProcess;
  readonly prototypes: string;
  readonly silencesMs: number[];
  readonly lagsMs: number[];
  waitedMs: number;
  readonly notes: Note[];
}

/** Memory of a process, and the number of requests or RPCs it had handled by then. */
interface Note {
  readonly heap: number;
  readonly resident: number;
  readonly handled: number;
}

/** Looks after the processes of a server while it is attacked: they answer, do not grow, and share no planted property. */
export class ProcessWatch {
  #isWatching = true;
  #watching: Promise<unknown> = Promise.resolve();
  readonly #problems: string[] = [];

  private constructor(private readonly processes: readonly Watched[]) {}

  static async over({ processes, main }: GatepostServer): Promise<ProcessWatch> {
    const pids = processes.map(({ pid }) => pid);
    const inspected = await InspectedProcess.among(pids, main.stderr);
    const watched = processes.map(async ({ service, pid, port }) => {
      const one = inspected.get(pid);
      if (one === undefined) throw new Error(`${service} cannot be inspected; pids ${[...inspected.keys()].join()}`);
      const [healthUrl, metricsUrl] = ['healthz', 'metrics'].map((path) => `http://127.0.0.1:${port}/${path}`) as [
        string,
        string,
      ];
      const prototypes = await one.prototypes();
      return {
        name: service,
        pid,
        healthUrl,
        metricsUrl,
        inspected: one,
        prototypes,
        silencesMs: [],
        lagsMs: [],
        notes: [],
        waitedMs: waitedMs(pid),
      };
    });
    return new ProcessWatch(await Promise.all(watched));
  }

  start(): void {
    this.#watching = this.#watch();
  }

  /** Records the memory of the processes: growth since the previous record is checked, so the first ones find caches empty. */
  async note(): Promise<void> {
    for (const one of this.processes.filter(({ pid }) => isAlive(pid))) one.notes.push(await noteOf(one));
  }

  async stop(): Promise<void> {
    this.#isWatching = false;
    await this.#watching;
    for (const one of this.processes) {
      const changes = isAlive(one.pid) ? await one.inspected.changesSince(one.prototypes) : 'all of it: it has died';
      if (changes !== '')
        this.#problems.push(`${one.name} (${one.pid}): what all objects share was changed: ${changes}`);
    }
  }

  /** Looks away, so that the processes can end. */
  close(): void {
    this.#isWatching = false;
    for (const { inspected } of this.processes) inspected.close();
  }

  /** Problems of the processes. */
  problems(): string[] {
    return [...this.#problems, ...this.processes.flatMap(growthOf)];
  }

  /** A line for each process. */
  report(): string[] {
    return this.processes.map(({ name, pid, notes, silencesMs, lagsMs }) =>
      [
        `${name} (${pid})`.padEnd(24),
        `heap ${notes.map(({ heap }) => megabytes(heap)).join(' → ')} MB`,
        `resident ${notes.map(({ resident }) => megabytes(resident)).join(' → ')} MB`,
        `handled ${notes.map(({ handled }) => handled).join(' → ')}`,
        `/healthz within ${Math.round(Math.max(0, ...silencesMs))} ms`,
        `longest lag ${Math.round(Math.max(0, ...lagsMs))} ms`,
      ].join(', '),
    );
  }

  async #watch(): Promise<void> {
    while (this.#isWatching) {
      await Promise.all(this.processes.map((one) => this.#look(one)));
      await sleep(ROUND_MS);
    }
  }

  async #look(one: Watched): Promise<void> {
    const [startedAt, own, waited] = [performance.now(), performance.eventLoopUtilization(), one.waitedMs];
    one.waitedMs = waitedMs(one.pid);
    const health = await answerOf(one.healthUrl);
    // This process cannot receive the answer while it does other work, so that time does not count.
    const elapsed = performance.now() - startedAt;
    const silence = elapsed - performance.eventLoopUtilization(own).active - (waitedMs(one.pid) - one.waitedMs);
    if (health === undefined) return void this.#problems.push(`${one.name} (${one.pid}) did not answer /healthz`);
    const longest = 1_000 * metric(await answerOf(one.metricsUrl), 'nodejs_eventloop_lag_max_seconds');
    // Time spent waiting for a processor says nothing about the product.
    const lag = Math.max(0, longest - (waitedMs(one.pid) - waited));
    one.silencesMs.push(silence);
    one.lagsMs.push(lag);
    if (silence > MAX_SILENCE_MS || lag > MAX_SILENCE_MS)
      this.#problems.push(`${one.name}: silent for ${Math.round(silence)} ms, lag ${Math.round(lag)} ms`);
  }
}

/** Time for which the process has waited for a processor so far; nothing if the system does not report it. */
function waitedMs(pid: number): number {
  const schedule = `/proc/${pid}/schedstat`;
  return existsSync(schedule) ? Number(readFileSync(schedule, 'utf8').split(' ')[1]) / NANOSECONDS : 0;
}

async function noteOf({ inspected, pid, metricsUrl }: Watched): Promise<Note> {
  const heap = await inspected.heapInUse();
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { heap, resident: Number(kilobytes) * 1_024, handled: handledOf(await answerOf(metricsUrl)) };
}

/** How many requests a process has answered, or RPCs, whichever are more. */
function handledOf(metrics = ''): number {
  const counts = ['gatepost_http_request_duration_seconds_count', 'gatepost_rpc_duration_seconds_count'].map((name) =>
    [...metrics.matchAll(new RegExp(`^${name}\\S* (\\d+)$`, 'gm'))].reduce((sum, [, count]) => sum + Number(count), 0),
  );
  return Math.max(...counts);
}

/**
 * Memory that has grown in the last part of the run, by more than the requests of that part may leave behind. An earlier maximum may be
 * reached again: only a leak exceeds it each time.
 */
function growthOf({ name, pid, notes }: Watched): string[] {
  const [middle, end] = notes.slice(-2);
  if (middle === undefined || end === undefined) return [`${name} (${pid}) was not looked into twice`];
  const maxGrowth = MAX_GROWTH_BYTES + (end.handled - middle.handled) * MAX_BYTES_PER_REQUEST;
  const most = Math.max(...notes.slice(0, -1).map(({ heap }) => heap));
  const hasGrown = end.heap - most > maxGrowth;
  const isLarge = end.resident > middle.resident * MAX_RESIDENT_GROWTH + MAX_RESIDENT_BYTES;
  return hasGrown || isLarge
    ? [
        `${name} has grown from ${megabytes(most)} to ${megabytes(end.heap)} MB in use, ${megabytes(middle.resident)} to ${megabytes(end.resident)} MB resident, by ${end.handled - middle.handled} requests`,
      ]
    : [];
}

async function answerOf(url: string): Promise<string | undefined> {
  return fetch(url, { signal: AbortSignal.timeout(HEALTH_DEADLINE_MS) }).then(
    (response) => response.text(),
    () => undefined,
  );
}

function metric(text = '', name: string): number {
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
}

function megabytes(bytes = 0): string {
  return (bytes / MEGABYTE).toFixed(1);
}

import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Clock } from '#bootstrap';
import { appError } from '#errors';
import { Metrics } from '#observability';
import { eventually } from '#testing';
import type { InstallationScanRepository, ScanRange } from '../installations/installations.repository.js';
import type { PushJob, ScanPosition, TargetedInstallation } from '../pushes/push.row.js';
import { InstallationScan } from './installation-scan.js';
import { largeWorker } from './push-run.js';
import { PushRun, type RunTools } from './push-run.js';

const START: ScanPosition = { partition: 0, objectId: '' };
/** Every tenth of 4,500 installations is a target of the push. */
const ALL = Array.from({ length: 4_500 }, (_, index) => String(index).padStart(5, '0'));
const WANTED = ALL.filter((_, index) => index % 10 === 0);

const installation = (objectId: string): TargetedInstallation => ({
  objectId,
  partition: 0,
  installationId: objectId,
  deviceType: 'web',
});

/** A table in which examining more than this number of installations takes too long. */
class SlowTable implements Pick<InstallationScanRepository, 'find' | 'positionAfter'> {
  readonly looks: number[] = [];

  constructor(private readonly quick: number) {}

  find(_: unknown, { after, until, limit }: ScanRange): Promise<TargetedInstallation[]> {
    const isInRange = (id: string) => id > after.objectId && (until === undefined || id <= until.objectId);
    const found = WANTED.filter(isInRange).slice(0, limit);
    const last = found.length < limit ? undefined : found.at(-1);
    const looked = ALL.filter((id) => isInRange(id) && (last === undefined || id <= last)).length;
    this.looks.push(looked);
    if (looked > this.quick) return Promise.reject(appError('QUERY_TIMED_OUT'));
    return Promise.resolve(found.map(installation));
  }

  positionAfter(_: string, after: ScanPosition, count: number): Promise<ScanPosition | undefined> {
    const objectId = ALL.filter((id) => id > after.objectId)[count - 1];
    return Promise.resolve(objectId === undefined ? undefined : { partition: 0, objectId });
  }
}

async function scanAll(table: SlowTable, limit: number, failures = 0): Promise<string[]> {
  const job = { appId: 'app', failures } as PushJob;
  const scan = new InstallationScan(table as unknown as InstallationScanRepository, job);
  const found: string[] = [];
  let position = START;
  for (;;) {
    const page = await scan.next(position, limit);
    found.push(...page.installations.map(({ objectId }) => objectId));
    if (page.isLast) return found;
    position = page.position;
  }
}

describe('the scan of installations', () => {
  it.each([
    { table: 'quick', quick: Infinity, limit: 200 },
    { table: 'slow', quick: 2_000, limit: 1_000 },
    { table: 'very slow', quick: 200, limit: 1_000 },
  ])('finds each that a push is for once, in their order, where the table is $table', async ({ quick, limit }) => {
    expect(await scanAll(new SlowTable(quick), limit)).toEqual(WANTED);
  });

  it('examines no more at once than was fast, after a timeout', async () => {
    const table = new SlowTable(200);
    await scanAll(table, 1_000);
    expect(table.looks.filter((looked) => looked > 200)).toEqual([4_500, 2_000]);
  });

  it('begins with the smallest range after a failed run, and widens it while it is quick', async () => {
    const slow = new SlowTable(1_000);
    expect(await scanAll(slow, 1_000, 1)).toEqual(WANTED);
    expect(slow.looks.slice(0, 3)).toEqual([200, 2_000, 200]);
    expect(slow.looks.filter((looked) => looked > 200)).toHaveLength(1);
    const quick = new SlowTable(Infinity);
    expect(await scanAll(quick, 1_000, 1)).toEqual(WANTED);
    expect(quick.looks).toEqual([200, 2_000, 2_300]);
  });

  it('gives up if even the smallest range takes too long', async () => {
    await expect(scanAll(new SlowTable(100), 1_000)).rejects.toMatchObject({ errorName: 'QUERY_TIMED_OUT' });
  });
});

const JOB = {
  appId: 'app',
  objectId: 'push',
  failures: 4,
  position: { partition: -1, objectId: '' },
  counts: {},
  flowControl: null,
  expiresAt: new Date(Date.now() + 3_600_000),
  message: { body: '{}', bodies: {} },
};

function toolsWith({ jobs, delivery }: { jobs: object; delivery: object }) {
  Logger.overrideLogger(false);
  const installations = new SlowTable(Infinity);
  const others = { clock: new Clock(), metrics: new Metrics(), logger: new Logger(), onPartition: () => undefined };
  const tools = { jobs, delivery, installations, ...others } as unknown as RunTools;
  return { ...tools, metrics: others.metrics };
}

describe('a large push that fails', () => {
  /** @param pages that can be delivered before a defect. @returns the recorded number of failed attempts; undefined: the push has ended */
  async function failuresAfter(pages: number): Promise<number | undefined> {
    const waiting = [JOB];
    const ends: (number | undefined)[] = [];
    let delivered = 0;
    const jobs = {
      claim: () => Promise.resolve(waiting.splice(0)),
      limitOf: () => Promise.resolve(undefined),
      advance: () => Promise.resolve(true),
      release: (_: unknown, failures: number) => Promise.resolve(ends.push(failures)),
      fail: () => Promise.resolve(ends.push(undefined)),
    };
    const delivery = {
      enqueue: () => {
        delivered += 1;
        return delivered > pages ? Promise.reject(new TypeError('a defect')) : Promise.resolve({});
      },
      wake: () => Promise.resolve(),
    };
    const worker = largeWorker('unpaced', toolsWith({ jobs, delivery }));
    worker.start();
    await eventually(() => {
      expect(ends).toHaveLength(1);
    });
    await worker.stop();
    return ends[0];
  }

  it.each([
    { failures: 0, delaySeconds: 10 },
    { failures: 1, delaySeconds: 60 },
    { failures: 4, delaySeconds: 1_800 },
    { failures: 5, delaySeconds: undefined },
  ])('is due again in $delaySeconds seconds after $failures failures and a timeout', async (expected) => {
    const waiting = [{ ...JOB, failures: expected.failures }];
    const delays: (number | undefined)[] = [];
    const jobs = {
      claim: () => Promise.resolve(waiting.splice(0)),
      limitOf: () => Promise.resolve(undefined),
      release: (_: unknown, __: number, delaySeconds: number) => Promise.resolve(delays.push(delaySeconds)),
      fail: () => Promise.resolve(delays.push(undefined)),
    };
    const tools = { ...toolsWith({ jobs, delivery: {} }), installations: new SlowTable(0) };
    const worker = largeWorker('unpaced', tools as unknown as Parameters<typeof largeWorker>[1]);
    worker.start();
    await eventually(() => {
      expect(delays).toEqual([expected.delaySeconds]);
    });
    await worker.stop();
  });

  it('has marked all devices of an earlier page, however many smaller pages they are now', async () => {
    const marks: boolean[] = [];
    const jobs = { limitOf: () => Promise.resolve(undefined), advance: () => Promise.resolve(true) };
    const enqueue = (_: unknown, __: unknown, isRepeated: boolean) => Promise.resolve({ isRepeated });
    const wake = ([one]: { isRepeated: boolean }[]) => Promise.resolve(void marks.push(one!.isRepeated));
    const tools = toolsWith({ jobs, delivery: { enqueue, wake } });
    const job = { ...JOB, isResumed: true } as unknown as PushJob;
    const slow = { ...tools, installations: new SlowTable(200) as unknown as InstallationScanRepository };
    expect(await new PushRun(job, slow, new AbortController().signal, () => false).run()).toBe('done');
    expect(marks.length).toBeGreaterThan(10);
    expect(new Set(marks)).toEqual(new Set([true]));
  });

  it('ends after five attempts, which are counted anew after each finished page', async () => {
    expect(await failuresAfter(0)).toBeUndefined();
    expect(await failuresAfter(1)).toBe(1);
  });
});

describe('large pushes that wait for a dependency', () => {
  beforeEach(() => {
    // No lease is renewed, and none ends, while the clock is ahead.
    vi.useFakeTimers({ toFake: ['setInterval'] });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  /** Skips ten seconds after the first attempts. @returns the delay after which the first released push is free again */
  async function firstReleaseOf(pushes: number): Promise<number> {
    const waiting = Array.from({ length: pushes }, (_, place) => ({ ...JOB, objectId: String(place) }));
    const delays: number[] = [];
    let attempts = 0;
    const jobs = {
      claim: (limit: number) => Promise.resolve(waiting.splice(0, limit)),
      limitOf: () => Promise.resolve(undefined),
      release: (_: unknown, __: number, delaySeconds: number) => Promise.resolve(delays.push(delaySeconds)),
    };
    const enqueue = () => {
      attempts += 1;
      return Promise.reject(appError('SERVICE_UNAVAILABLE'));
    };
    const worker = largeWorker('unpaced', toolsWith({ jobs, delivery: { enqueue } }));
    worker.start();
    const attemptsReach = (count: number) =>
      eventually(() => {
        expect(attempts).toBeGreaterThanOrEqual(count);
      });
    await attemptsReach(pushes);
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 10_000);
    await attemptsReach(2 * pushes);
    await worker.stop();
    return delays[0]!;
  }

  it('give way after ten seconds where all slots are taken, and are free again after five', async () => {
    expect(await firstReleaseOf(3)).toBe(5);
  });

  it('keep waiting while a slot is free', async () => {
    expect(await firstReleaseOf(2)).toBe(0);
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiClient, eventually, PrivateRabbit, type Shortage, TestProcess, useSmtpSink } from '#testing';
import { mailAccount, wrongUsers } from '../load/account.js';
import { Cluster } from '../load/cluster.js';
import { DeviceFleet } from '../load/device-fleet.js';
import { Letterbox } from '../load/letterbox.js';
import { MixedLoad } from '../load/mixed-load.js';
import { wrongPushes } from './push-account.js';
import { residualState } from './residual-state.js';

const WORKERS = 6;
const DEVICES = 20;
const WARM_MS = 5_000;
/** Longer than any question has, a password's included, and what clocks may differ by: what is late then is late. */
const SHORT_MS = 20_000;
/** By then every process knows: an idle one looks every second. */
const NOTICED_MS = 2_000;
/** Of an answer while the broker takes no messages, on a busy machine too. */
const AT_ONCE_MS = 1_000;
const READY_MS = 30_000;
const CALM_MS = 5_000;
const CALM_WITHIN_MS = 60_000;
const START_MS = 600_000;
const SETTLED_MS = 720_000;
/** Tolerated growth of a gateway while it refuses, in MiB: the size of a heap varies. */
const GROWTH_MIB = 64;

const startedAt = performance.now();
const log = (line: string) => {
  process.stderr.write(`[${((performance.now() - startedAt) / 1_000).toFixed(0)} s] ${line}\n`);
};

/** Times on the clock of `performance.now()`. */
interface Alarm {
  readonly of: Shortage;
  readonly from: number;
  readonly until: number;
  readonly growthMib: number;
}

describe('a RabbitMQ that runs short of memory, then of disk, under load', () => {
  const sink = useSmtpSink();
  let rabbit: PrivateRabbit;
  let cluster: Cluster;
  let fleet: DeviceFleet;
  let letters: Letterbox;
  let load: MixedLoad;
  const alarms: Alarm[] = [];
  const running: { stop(): Promise<void> }[] = [];

  beforeAll(async () => {
    rabbit = await PrivateRabbit.start();
    running.push(rabbit);
    // The keys left in Redis are checked at the end, so it must not be shared with other tests.
    const redis = TestProcess.start('tools/test/private-server.mjs', ['redis'], {});
    running.push({ stop: () => redis.stop().then(() => undefined) });
    const [redisUrl] = await redis.untilPrinted(/redis:\S+/);
    cluster = await Cluster.start(1, {
      ...sink().env(),
      AMQP_URL: rabbit.url,
      REDIS_URL: redisUrl,
      GATEPOST_PUSH_RECONNECT_SECONDS: '2',
      GATEPOST_RATE_LIMIT_MAILS: 'off',
    });
    running.push(cluster);
    const { url, app } = cluster;
    fleet = new DeviceFleet({ server: url, appId: app.id, appKey: app.appKey, size: DEVICES });
    running.push(fleet);
    await eventually(() => ApiClient.forApp(url, app).get('/1.1/date'), START_MS);
    await fleet.start();
    letters = new Letterbox(sink());
    load = new MixedLoad({ url, app, letters });
  }, 2 * START_MS);
  afterAll(async () => {
    const failures: unknown[] = [];
    for (const one of running.toReversed()) await one.stop().catch((error: unknown) => failures.push(error));
    expect(failures).toEqual([]);
  }, START_MS);

  const portOf = (service: 'gateway' | 'accounts') => cluster.services.get(service)?.[0]?.port ?? 0;
  const read = async (port: number, path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  const memoryMib = async () => {
    const sample = /^process_resident_memory_bytes (\S+)$/m.exec(await read(portOf('gateway'), '/metrics'))?.[1];
    return Number(sample) / 1_048_576;
  };
  const untilCalm = async () => {
    const { requests } = load;
    const beganAt = performance.now();
    await sleep(CALM_MS);
    await requests.ended();
    expect(requests.unanswered.filter((request) => request.startedAt >= beganAt)).toEqual([]);
  };
  const lookAndRecover = async (of: Shortage, from: number) => {
    try {
      return await look(of, from);
    } finally {
      await rabbit.recover(of);
    }
  };
  const goThrough = async (of: Shortage) => {
    load.burst();
    await rabbit.runShort(of);
    const from = performance.now();
    const growthMib = await lookAndRecover(of, from);
    const until = performance.now();
    alarms.push({ of, from, until, growthMib });
    await eventually(async () => {
      for (const { port } of cluster.replicas) expect(await read(port, '/readyz')).not.toContain('RabbitMQ');
    }, READY_MS);
    log(`${of}: all ready ${((performance.now() - until) / 1_000).toFixed(1)} s after its end`);
    await eventually(untilCalm, CALM_WITHIN_MS);
  };
  /** @returns what the gateway grew by, in MiB */
  const look = async (of: Shortage, from: number) => {
    await sleep(NOTICED_MS);
    const before = await memoryMib();
    for (const { port } of cluster.replicas)
      expect(await read(port, '/readyz')).toContain(`RabbitMQ accepts no messages: low on ${of}`);
    const doctor = await cluster.command('doctor').catch((error: unknown) => String(error));
    expect(doctor).toContain(`RabbitMQ accepts no messages: low on ${of}`);
    await sleep(from + SHORT_MS - performance.now());
    return (await memoryMib()) - before;
  };

  it('is recovered from without intervention', async () => {
    load.start(WORKERS);
    try {
      await sleep(WARM_MS);
      await goThrough('memory');
      await goThrough('disk');
    } finally {
      await load.stop();
      await fleet.settle();
    }
  });

  it('brings no answers but those that are described, and refuses at once', () => {
    expect(load.requests.failures).toEqual([]);
    for (const { of, from, until, growthMib } of alarms) {
      const during = load.requests.unanswered.filter(
        (request) => request.startedAt >= from + NOTICED_MS && request.startedAt < until,
      );
      const durations = during.map((request) => request.endedAt - request.startedAt).sort((a, b) => a - b);
      const [median = NaN, slowest = NaN] = [durations[Math.floor(durations.length / 2)], durations.at(-1)];
      log(
        `${of}: ${during.length} refused, median ${median.toFixed(0)} ms, slowest ${slowest.toFixed(0)} ms; the gateway grew by ${growthMib.toFixed(0)} MiB`,
      );
      expect(durations.length).toBeGreaterThan(20);
      expect(slowest).toBeLessThan(AT_ONCE_MS);
      expect(growthMib).toBeLessThan(GROWTH_MIB);
    }
  });

  it('costs no acknowledged write', async () => {
    expect(await wrongUsers(cluster.env['DATABASE_URL'] ?? '', load)).toEqual([]);
  });

  it('leaves nothing behind', async () => {
    await eventually(async () => {
      expect(await residualState(cluster)).toEqual([]);
    }, SETTLED_MS);
  });

  it('costs no mail and no push', async () => {
    const databaseUrl = cluster.env['DATABASE_URL'] ?? '';
    const mails = await mailAccount({ databaseUrl, load, letters, mayRepeat: 0 });
    log(`mails: ${mails.owed} owed, ${mails.sent} sent; pushes: ${load.pushes.acknowledged.length} acknowledged`);
    expect(mails.problems).toEqual([]);
    expect(await wrongPushes(cluster, load, fleet)).toEqual([]);
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ApiClient, eventually, scaleOfRun, useSmtpSink } from '#testing';
import { mailAccount, wrongUsers } from '../load/account.js';
import { Cluster } from '../load/cluster.js';
import { DeviceFleet } from '../load/device-fleet.js';
import { Letterbox } from '../load/letterbox.js';
import { MixedLoad } from '../load/mixed-load.js';
import { FaultInjector } from './fault-injector.js';
import { wrongLogins } from './login-account.js';
import { planOf, REPLICAS, SERVERS, describePlan, type PlannedFault } from './plan.js';
import { PrivateServers } from './private-servers.js';
import { wrongPushes } from './push-account.js';
import { report, tooFew, unexplained } from './report.js';
import { lastingReservations, residualState } from './residual-state.js';

const SECONDS = scaleOfRun('seconds', 120);
const SEED = scaleOfRun('seed', 1);
const WORKERS = scaleOfRun('workers', 6);
const DEVICES = scaleOfRun('devices', 50);
/** So many devices are away at any time, for so long. */
const WANDERERS = 5;
const AWAY_MS = 3_000;
/** Before the first fault. */
const WARM_MS = 5_000;
/** Mails take a while to leave, so that some are on their way when a fault is injected. */
const SMTP_MS = 300;
/** By one mail process: what it has in hand, and nothing else, may be sent again after a fault. */
const MAILS_AT_ONCE = 5;
/** The targets that accept, send and record mails. */
const CARRIERS: readonly PlannedFault['target'][] = ['mail', ...SERVERS];
/** A busy machine may need a while until every request is answered for so long. */
const CALM_MS = 5_000;
const CALM_WITHIN_MS = 60_000;
/** Fewer requests would not show that it is calm. */
const CALM_REQUESTS = 20;
const START_MS = 600_000;
/** The work of a killed process is released after a minute; an event that failed three times is retried after ten. */
const SETTLED_MS = 720_000;
const COMMAND = `npm run test:faults -- --seconds=${SECONDS} --seed=${SEED}`;

const startedAt = performance.now();
const log = (line: string) => {
  process.stderr.write(`[${((performance.now() - startedAt) / 1_000).toFixed(0)} s] ${line}\n`);
};

describe('every process and every server killed, in turn and at random, under load', () => {
  const sink = useSmtpSink();
  let servers: PrivateServers;
  let cluster: Cluster;
  let fleet: DeviceFleet;
  let letters: Letterbox;
  let load: MixedLoad;
  let injector: FaultInjector;
  /** From then on nothing may be refused. */
  let calmAt = Infinity;
  const running: { stop(): Promise<void> }[] = [];

  beforeAll(async () => {
    sink().slowDown(SMTP_MS);
    servers = await PrivateServers.start();
    running.push(servers);
    cluster = await Cluster.start(REPLICAS, {
      ...sink().env(),
      ...servers.env,
      GATEPOST_PUSH_RECONNECT_SECONDS: '2',
      GATEPOST_SMTP_CONNECTIONS: String(MAILS_AT_ONCE),
      // A long run sends more than an application may in an hour.
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
    injector = new FaultInjector({ cluster, servers, load, fleet, letters }, log);
    log('everything runs');
  }, 2 * START_MS);
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') log(`failed; the same plan again: ${COMMAND}`);
  });
  afterAll(async () => {
    const failures: unknown[] = [];
    for (const one of running.toReversed()) await one.stop().catch((error: unknown) => failures.push(error));
    expect(failures).toEqual([]);
  }, START_MS);

  it('are recovered from without intervention', async () => {
    const { inTurn, atRandom } = planOf(SEED, SECONDS);
    log(`in turn: ${describePlan(inTurn)}`);
    log(`at random, while there is time: ${describePlan(atRandom)}`);
    load.start(WORKERS);
    fleet.wander(WANDERERS, AWAY_MS);
    try {
      await sleep(WARM_MS);
      await injector.inject(inTurn);
      const made = await injector.inject(atRandom, performance.now() + SECONDS * 1_000);
      log(`${made} of ${atRandom.length} random faults were injected`);
      calmAt = await eventually(untilCalm, CALM_WITHIN_MS);
    } finally {
      await load.stop();
      await fleet.settle();
    }
  });

  it('leave no lock, and no place of an attempt for longer than ten seconds', async () => {
    expect(await lastingReservations(cluster)).toEqual([]);
  });

  it('let the load do its work', () => {
    expect(tooFew(load)).toEqual([]);
  });

  it('bring no answers but those that are described', () => {
    expect(load.requests.failures).toEqual([]);
    expect(unexplained(load, injector.injected, calmAt)).toEqual([]);
  });

  it('cost no acknowledged write', async () => {
    expect(await wrongUsers(cluster.env['DATABASE_URL'] ?? '', load)).toEqual([]);
    expect(await wrongLogins(cluster, load)).toEqual([]);
  });

  // Before the accounts of mails and pushes: what still had a lease could be sent once more.
  it('leave nothing behind', async () => {
    log('waiting for what is left');
    await eventually(async () => {
      const found = await residualState(cluster);
      expect(found).toEqual([]);
    }, SETTLED_MS);
  });

  it('cost no mail, and send few twice', async () => {
    const account = await mails();
    log(report({ load, fleet, injector, mails: account }));
    expect(account.problems).toEqual([]);
  });

  it('cost no push, and show none twice', async () => {
    expect(await wrongPushes(cluster, load, fleet)).toEqual([]);
  });

  /** @returns when the calm began */
  const untilCalm = async () => {
    const { requests } = load;
    const [beganAt, sent] = [performance.now(), requests.sent];
    await sleep(CALM_MS);
    expect(requests.sent - sent).toBeGreaterThanOrEqual(CALM_REQUESTS);
    await requests.ended();
    expect(requests.unanswered.filter((request) => request.startedAt >= beganAt)).toEqual([]);
    return beganAt;
  };
  const mails = () =>
    mailAccount({
      databaseUrl: cluster.env['DATABASE_URL'] ?? '',
      load,
      letters,
      mayRepeat: injector.injected.filter(({ target }) => CARRIERS.includes(target)).length * MAILS_AT_ONCE,
    });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ApiClient, eventually, scaleOfRun, useSmtpSink } from '#testing';
import { mailAccount, wrongUsers } from '../load/account.js';
import { Cluster } from '../load/cluster.js';
import { DeviceFleet } from '../load/device-fleet.js';
import { Letterbox } from '../load/letterbox.js';
import { MixedLoad } from '../load/mixed-load.js';
import { leftovers } from './leftovers.js';
import { wrongLogins } from './login-account.js';
import { planOf, REPLICAS, SERVERS, type Strike, told } from './plan.js';
import { PrivateServers } from './private-servers.js';
import { wrongPushes } from './push-account.js';
import { report, unexplained } from './report.js';
import { Strikes } from './strikes.js';

const SECONDS = scaleOfRun('seconds', 120);
const SEED = scaleOfRun('seed', 1);
const WORKERS = scaleOfRun('workers', 6);
const DEVICES = scaleOfRun('devices', 50);
/** So many devices are away at any time, for so long. */
const WANDERERS = 5;
const AWAY_MS = 3_000;
/** Before the first strike. */
const WARM_MS = 5_000;
/** Mails take a while to leave, so that some are on their way when something is struck. */
const SMTP_MS = 300;
/** By one mail process: what it has in hand, and nothing else, may be sent again after a strike. */
const MAILS_AT_ONCE = 5;
/** What mails are taken, sent and noted by. */
const CARRIERS: readonly Strike['target'][] = ['mail', ...SERVERS];
/** A busy machine may need a while until every request is answered for so long. */
const CALM_MS = 5_000;
const CALM_WITHIN_MS = 60_000;
const START_MS = 600_000;
/** What a killed process had in hand is free after a minute; an event that failed three times is tried again after ten. */
const SETTLED_MS = 720_000;
const PUSHES_MS = 120_000;
const COMMAND = `npm run test:faults -- --seconds=${SECONDS} --seed=${SEED}`;

const startedAt = performance.now();
const tell = (line: string) => {
  process.stderr.write(`[${((performance.now() - startedAt) / 1_000).toFixed(0)} s] ${line}\n`);
};

describe('every process and every server killed, in turn and at random, under load', () => {
  const sink = useSmtpSink();
  let servers: PrivateServers;
  let cluster: Cluster;
  let fleet: DeviceFleet;
  let letters: Letterbox;
  let load: MixedLoad;
  let strikes: Strikes;

  const settled = async (what: string, problems: () => Promise<string[]>, timeoutMs = SETTLED_MS) => {
    tell(`accounting for ${what}`);
    await eventually(async () => {
      const found = await problems();
      expect(found).toEqual([]);
    }, timeoutMs);
  };

  beforeAll(async () => {
    sink().slowDown(SMTP_MS);
    servers = await PrivateServers.start();
    cluster = await Cluster.start(REPLICAS, {
      ...sink().env(),
      ...servers.env,
      GATEPOST_PUSH_RECONNECT_SECONDS: '2',
      GATEPOST_SMTP_CONNECTIONS: String(MAILS_AT_ONCE),
    });
    const { url, app } = cluster;
    fleet = new DeviceFleet({ server: url, appId: app.id, appKey: app.appKey, size: DEVICES });
    await eventually(() => ApiClient.forApp(url, app).get('/1.1/date'), START_MS);
    await fleet.start();
    letters = new Letterbox(sink());
    load = new MixedLoad({ url, app, letters });
    strikes = new Strikes({ cluster, servers, load, fleet, letters }, tell);
    tell('everything runs');
  }, 2 * START_MS);
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') tell(`failed; the same plan again: ${COMMAND}`);
  });
  afterAll(async () => {
    await fleet.stop();
    await cluster.stop();
    await servers.stop();
  }, START_MS);

  it('are got over without a hand', async () => {
    const { inTurn, atRandom } = planOf(SEED, SECONDS);
    tell(`in turn: ${told(inTurn)}`);
    tell(`at random, while there is time: ${told(atRandom)}`);
    load.start(WORKERS);
    fleet.wander(WANDERERS, AWAY_MS);
    await sleep(WARM_MS);
    await strikes.make(inTurn);
    const made = await strikes.make(atRandom, performance.now() + SECONDS * 1_000);
    tell(`${made} of ${atRandom.length} at random were made`);
    await eventually(async () => {
      const calmAt = performance.now();
      await sleep(CALM_MS);
      expect(load.requests.unanswered.filter((request) => request.startedAt > calmAt)).toEqual([]);
    }, CALM_WITHIN_MS);
    await load.stop();
    await fleet.settle();
  });

  it('bring no answers but those that are described', () => {
    expect(load.requests.failures).toEqual([]);
    expect(unexplained(load, strikes.made)).toEqual([]);
  });

  it('cost no acknowledged write', async () => {
    expect(await wrongUsers(cluster.env['DATABASE_URL'] ?? '', load)).toEqual([]);
    expect(await wrongLogins(cluster, load)).toEqual([]);
  });

  it('cost no mail, and send none more than twice', async () => {
    await settled('mails', async () => [...(await mails()).problems]);
    tell(report({ load, fleet, strikes, mails: await mails() }));
  });

  it('cost no push, and show none twice', async () => {
    await settled('pushes', () => wrongPushes(cluster, load, fleet), PUSHES_MS);
  });

  it('leave nothing behind', async () => {
    await settled('what is left', () => leftovers(cluster));
  });

  const mails = () =>
    mailAccount({
      databaseUrl: cluster.env['DATABASE_URL'] ?? '',
      load,
      letters,
      mayRepeat: strikes.made.filter(({ target }) => CARRIERS.includes(target)).length * MAILS_AT_ONCE,
    });
});

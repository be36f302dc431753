import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiClient, eventually, scaleOfRun, useSmtpSink } from '#testing';
import { mailAccount, wrongUsers } from '../load/account.js';
import { Cluster, SERVICES } from '../load/cluster.js';
import { DeviceFleet } from '../load/device-fleet.js';
import { Letterbox } from '../load/letterbox.js';
import { MixedLoad } from '../load/mixed-load.js';

const REPLICAS = 2;
const WORKERS = scaleOfRun('workers', 4);
/** By hand: more of all, by TEST_SCALE. */
const ROUNDS = scaleOfRun('rounds', 1);
const DEVICES = scaleOfRun('devices', 100);
const START_MS = 600_000;
const ROUND_MS = 900_000;
const SETTLED_MS = 90_000;

describe('a rolling restart of every service, two processes each, under load', () => {
  const sink = useSmtpSink();
  let cluster: Cluster;
  let fleet: DeviceFleet;

  beforeAll(async () => {
    cluster = await Cluster.start(REPLICAS, { ...sink().env(), GATEPOST_PUSH_RECONNECT_SECONDS: '2' });
    const { url, app } = cluster;
    fleet = new DeviceFleet({ server: url, appId: app.id, appKey: app.appKey, size: DEVICES });
    await eventually(() => ApiClient.forApp(url, app).get('/1.1/date'), START_MS);
    await fleet.start();
  }, 2 * START_MS);
  afterAll(async () => {
    await fleet.stop();
    await cluster.stop();
  }, START_MS);

  it(
    'fails no request, and loses no write, no mail and no push',
    async () => {
      const letters = new Letterbox(sink());
      const load = new MixedLoad({ url: cluster.url, app: cluster.app, letters });
      const databaseUrl = cluster.env['DATABASE_URL'] ?? '';
      load.start(WORKERS);
      for (let round = 0; round < ROUNDS; round += 1)
        for (const service of SERVICES) for (let one = 0; one < REPLICAS; one += 1) await cluster.replaceOne(service);
      await load.stop();

      expect(load.requests.failures).toEqual([]);
      expect(load.requests.unanswered).toEqual([]);
      expect(await wrongUsers(databaseUrl, load)).toEqual([]);
      const pushes = load.pushes.acknowledged;
      await eventually(() => {
        expect(pushes.filter((push) => fleet.reached(push) < DEVICES)).toEqual([]);
      }, SETTLED_MS);
      await eventually(async () => {
        expect((await mailAccount({ databaseUrl, load, letters, mayRepeat: 0 })).problems).toEqual([]);
      }, SETTLED_MS);
      expect(pushes.filter((push) => fleet.repeated(push) > 0)).toEqual([]);
      expect(fleet.mostReturns()).toBeLessThanOrEqual(ROUNDS * REPLICAS);
      expect(await cluster.command('dead-letters', 'count')).not.toMatch(/[1-9]/);
      process.stderr.write(
        `${load.requests.sent} requests, ${load.requestsPerSecond} per second, ${load.users.length} users, ${pushes.length} pushes to ${DEVICES} devices, ${letters.size} mails\n`,
      );
    },
    ROUNDS * ROUND_MS + 2 * SETTLED_MS,
  );
});

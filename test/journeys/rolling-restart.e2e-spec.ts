import { afterAll, beforeAll, expect, describe, it } from 'vitest';
import {
  ApiClient,
  eventually,
  gatepost,
  type GatepostServer,
  scaleOfRun,
  setSetting,
  startServices,
  useSmtpSink,
} from '#testing';
import { DeviceFleet } from './device-fleet.js';
import { arrivedMails, lostWrites } from './rolling-restart/acknowledged.js';
import { LoadBalancer } from './rolling-restart/load-balancer.js';
import { MixedLoad } from './rolling-restart/mixed-load.js';
import { endReplica, type Replica, type ServiceStart, startReplica } from './rolling-restart/replicas.js';

const REPLICAS = 2;
const WORKERS = scaleOfRun('workers', 4);
/** By hand: more of all, for the figures in docs/operations.md. */
const ROUNDS = scaleOfRun('rounds', 1);
const DEVICES = scaleOfRun('devices', 100);
/** Longer than the load balancer takes to notice, on a busy machine too. */
const GATEWAY_DRAIN_SECONDS = '2';
const START_MS = 600_000;
const ROUND_MS = 900_000;
const SETTLED_MS = 90_000;

describe('a rolling restart of every service, two processes each, under load', () => {
  const sink = useSmtpSink();
  const replicas = new Map<string, Replica[]>();
  let starts: Record<string, ServiceStart>;
  let server: GatepostServer;
  let balancer: LoadBalancer;
  let fleet: DeviceFleet;

  /** The orders of services are those of docs/operations.md. */
  const startsOf = ({ env }: GatepostServer): Record<string, ServiceStart> => ({
    accounts: { app: 'accounts', env },
    'auth-linking': { app: 'auth-linking', env },
    mail: { app: 'mail', env },
    dispatcher: { app: 'push-delivery', env: { ...env, GATEPOST_PUSH_ROLES: 'dispatcher' } },
    connector: { app: 'push-delivery', env: { ...env, GATEPOST_PUSH_ROLES: 'connector' } },
    gateway: { app: 'gateway', env: { ...env, GATEPOST_DRAIN_SECONDS: GATEWAY_DRAIN_SECONDS } },
  });
  const startOne = async (service: string) => {
    const replica = await startReplica(starts[service]!);
    replicas.set(service, [...(replicas.get(service) ?? []), replica]);
    if (service === 'gateway') balancer.add(replica.port);
  };
  /** First the new one, then the old one's end. */
  const replaceOne = async (service: string) => {
    await startOne(service);
    const old = replicas.get(service)!.shift()!;
    await endReplica(old);
    if (service === 'gateway') balancer.remove(old.port);
  };

  beforeAll(async () => {
    balancer = await LoadBalancer.start();
    // Only for its database, its names and its keys.
    server = await startServices(
      { gateway: 0, accounts: 0 },
      { ...sink().env(), GATEPOST_BASE_URL: balancer.url, GATEPOST_PUSH_RECONNECT_SECONDS: '2' },
    );
    expect(await server.main.exited).toMatchObject({ status: 0 });
    starts = startsOf(server);
    for (const service of Object.keys(starts))
      await Promise.all(Array.from({ length: REPLICAS }, () => startOne(service)));
    await setSetting(server, server.app, 'verifyEmailOnSignUp', 'true');
    const { id: appId, appKey } = server.app;
    fleet = new DeviceFleet({ server: balancer.url, appId, appKey, size: DEVICES });
    await eventually(() => ApiClient.forApp(balancer.url, server.app).get('/1.1/date'), START_MS);
    await fleet.start();
  }, 2 * START_MS);
  afterAll(async () => {
    await fleet.stop();
    await Promise.all([...replicas.values()].flat().map(({ process }) => process.stop()));
    await balancer.stop();
  }, START_MS);

  it(
    'fails no request, and loses no write, no mail and no push',
    async () => {
      const load = new MixedLoad(
        ApiClient.forApp(balancer.url, server.app),
        ApiClient.forMaster(balancer.url, server.app),
      );
      load.start(WORKERS);
      for (let round = 0; round < ROUNDS; round += 1)
        for (const service of Object.keys(starts))
          for (let one = 0; one < REPLICAS; one += 1) await replaceOne(service);
      await load.stop();

      expect(load.failures).toEqual([]);
      expect(await lostWrites(server, load)).toEqual([]);
      await eventually(() => {
        expect(load.pushes.filter((push) => fleet.reached(push) < DEVICES)).toEqual([]);
      }, SETTLED_MS);
      await eventually(async () => {
        expect((await arrivedMails(sink(), load)).missing).toEqual([]);
      }, SETTLED_MS);
      expect(load.pushes.filter((push) => fleet.repeated(push) > 0)).toEqual([]);
      expect((await arrivedMails(sink(), load)).mostCopies).toBeLessThanOrEqual(2);
      expect(fleet.mostReturns()).toBeLessThanOrEqual(ROUNDS * REPLICAS);
      expect((await gatepost(server, 'dead-letters', 'count')).stdout).not.toMatch(/[1-9]/);
      process.stderr.write(
        `${load.requests} requests, ${load.requestsPerSecond} per second, ${load.users.length} users, ${load.pushes.length} pushes to ${DEVICES} devices, ${sink().kept.length} mails\n`,
      );
    },
    ROUNDS * ROUND_MS + 2 * SETTLED_MS,
  );
});

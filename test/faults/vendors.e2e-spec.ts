import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  appleToken,
  eventually,
  gatepost,
  type GatepostServer,
  type Json,
  masterClient,
  newFolder,
  scaleOfRun,
  startServices,
  TestProcess,
  useVendors,
} from '#testing';
import { PrivateServers } from './private-servers.js';

const SECONDS = scaleOfRun('seconds', 60);
const DEVICES = scaleOfRun('iphones', 20_000);
/** Tokens that are refused for a reason that is not theirs. */
const GOOD = 5 * DEVICES;
const PARTITIONS = 64;
const START_MS = 180_000;
const SETTLED_MS = 300_000;
const FAULT_EVERY_MS = 5_000;
const AWAY_MS = 500;
const ANSWER_MS = 20;
/** A large push keeps so many devices in progress in a sender: two batches of 500 of one lane. */
const IN_PROGRESS = 1_000;
/** Many enough for a share of one in a thousand, and for several batches. */
const DEAD = 2_000;
const REMOVED_SECONDS = 5;
const POLL_MS = 20;

type Role = 'dispatcher' | 'sender';

/** The requests that the stand-in has accepted for one push: their number by device, and their request ids. */
type Accepted = Map<string, { count: number; id: unknown }>;

/** Nothing is lost, each device counts once, and a repeat has the same id. */
describe(`pushes to ${DEVICES} iPhones`, () => {
  const vendors = useVendors();
  const tokens = Array.from({ length: DEVICES }, () => appleToken());
  const accepted = new Map<string, Accepted>();
  const processes: { readonly role: Role; process: TestProcess }[] = [];
  let servers: PrivateServers;
  let server: GatepostServer;
  let database: pg.Pool;
  let otherIds = 0;
  let kills = 0;

  const log = (line: string) => process.stderr.write(`${line}\n`);
  const start = async (role: Role) => {
    const env = { ...server.env, GATEPOST_PORT: '0', GATEPOST_PUSH_ROLES: role };
    const started = TestProcess.start('dist/apps/push-delivery/src/main.js', [], env);
    await started.untilLogged(/push-delivery listens on port (\d+)/, START_MS);
    return started;
  };
  const kill = async (place: number) => {
    const one = processes[place]!;
    one.process.signal('SIGKILL');
    await one.process.exited;
    kills += 1;
    one.process = await start(one.role);
  };
  const crash = async (kind: 'postgresql' | 'redis') => {
    const revive = servers.crash(kind);
    await sleep(AWAY_MS);
    await revive();
  };
  const register = (deviceTokens: readonly string[]) =>
    database.query(
      `INSERT INTO push.installations (app_id, object_id, partition, device_type, device_token, created_at, updated_at)
       SELECT $1, substr(md5(token), 1, 24), place % $3::int, 'ios', token, now() - interval '1 hour', now() - interval '1 hour'
       FROM unnest($2::text[]) WITH ORDINALITY AS installation (token, place)`,
      [server.app.id, deviceTokens, PARTITIONS],
    );
  const setCredentials = async (changes: Readonly<Record<string, string>> = {}) => {
    const { privateKey, ...shown } = { ...vendors().apns.credentials, ...changes };
    const file = join(newFolder('vendors'), 'key');
    writeFileSync(file, privateKey);
    const fields = Object.entries(shown).map(([name, value]) => `${name}=${value}`);
    await eventually(async () => {
      const set = ['vendors', 'set', server.app.id, 'apns', ...fields, `privateKey=@${file}`, '--unchecked'];
      expect((await gatepost(server, ...set)).status).toBe(0);
    }, START_MS);
  };
  const push = async () => {
    const answer = await masterClient(server)
      .acceptingUnavailable()
      .post('/1.1/push', { data: { alert: 'fault' } })
      .catch(() => undefined);
    return answer?.status === 200 ? String(answer.body['objectId']) : undefined;
  };
  const replaceDevices = async (deviceTokens: readonly string[]) => {
    await database.query('TRUNCATE push.installations CASCADE');
    await register(deviceTokens);
  };
  const invalidDevices = async () => {
    const text = 'SELECT count(*)::int AS count FROM push.installations WHERE NOT valid';
    return (await database.query<{ count: number }>(text)).rows[0]?.count ?? 0;
  };
  const settled = (id: string) =>
    eventually(async () => {
      const { body } = await masterClient(server).acceptingUnavailable().get(`/1.1/notifications/${id}`);
      const { apns } = (body['vendors'] ?? {}) as Record<string, Json>;
      expect([body['status'], apns?.['waiting']]).toEqual(['done', 0]);
      return apns ?? {};
    }, SETTLED_MS);

  beforeAll(async () => {
    servers = await PrivateServers.start();
    server = await startServices({ gateway: 1, accounts: 1 }, { ...vendors().env(), ...servers.env });
    database = new pg.Pool({ connectionString: server.env['DATABASE_URL'], max: 2 });
    database.on('error', () => undefined);
    for (const role of ['sender', 'dispatcher', 'sender'] as const)
      processes.push({ role, process: await start(role) });
    await setCredentials();
    await register(tokens);
    vendors().apns.delayMs = ANSWER_MS;
    vendors().apns.record = ({ token, headers }) => {
      const id = String(headers['apns-collapse-id']);
      const ofPush = accepted.get(id) ?? (new Map() as Accepted);
      accepted.set(id, ofPush);
      const known = ofPush.get(token);
      if (known !== undefined && known.id !== headers['apns-id']) otherIds += 1;
      ofPush.set(token, { count: (known?.count ?? 0) + 1, id: headers['apns-id'] });
    };
  }, 3 * START_MS);
  afterAll(async () => {
    await database.end();
    await Promise.all(processes.map(({ process: one }) => one.stop()));
    await server.stop();
    await servers.stop();
  }, START_MS);

  it(`reach each device, count each once, and repeat under the same id, with a fault each five seconds for ${SECONDS} seconds`, async () => {
    const faults: (() => unknown)[] = [
      () => kill(0),
      () => kill(1),
      () => {
        vendors().apns.goAway();
      },
      () => kill(2),
      () => {
        vendors().apns.breakConnections();
      },
      () => crash('postgresql'),
      () => crash('redis'),
    ];
    const pushes: string[] = [];
    const until = performance.now() + SECONDS * 1_000;
    for (let fault = 0; performance.now() < until; fault += 1) {
      const id = await push();
      if (id !== undefined) pushes.push(id);
      await sleep(FAULT_EVERY_MS);
      await faults[fault % faults.length]?.();
    }
    expect(pushes.length).toBeGreaterThan(0);
    for (const id of pushes) expect(await settled(id)).toMatchObject({ targeted: DEVICES, accepted: DEVICES });
    const lost = pushes.flatMap((id) => tokens.filter((token) => accepted.get(id)?.get(token) === undefined));
    const repeats = pushes.flatMap((id) =>
      [...(accepted.get(id)?.values() ?? [])].filter(({ count }) => count > 1),
    ).length;
    log(
      `${pushes.length} pushes to ${DEVICES} devices, ${kills} kills: ${lost.length} devices lost, ${repeats} got a push repeatedly, ${otherIds} of them under another id`,
    );
    expect([lost.length, otherIds]).toEqual([0, 0]);
    // Connections that broke, and answers that PostgreSQL could not store, repeat as well.
    expect(repeats).toBeLessThanOrEqual((SECONDS * 1_000 * 2 * IN_PROGRESS) / FAULT_EVERY_MS);
  });

  it('remove dead tokens within seconds', async () => {
    const diedAt = Math.floor(Date.now() / 1_000).toString(16);
    await replaceDevices(Array.from({ length: DEAD }, () => appleToken(`dead${diedAt}`)));
    const id = await push();
    const sentAt = performance.now();
    const removedAfter: number[] = [];
    while (removedAfter.length < DEAD && performance.now() - sentAt < SETTLED_MS) {
      const removed = await invalidDevices();
      const seconds = (performance.now() - sentAt) / 1_000;
      while (removedAfter.length < removed) removedAfter.push(seconds);
      await sleep(POLL_MS);
    }
    expect(await settled(id ?? '')).toMatchObject({ targeted: DEAD, waiting: 0, invalid: DEAD });
    const p99 = removedAfter[Math.ceil(DEAD * 0.99) - 1] ?? Infinity;
    log(`${DEAD} dead tokens: removed after ${p99.toFixed(2)} s from the push on (p99)`);
    expect(p99).toBeLessThan(REMOVED_SECONDS);
  });

  it('remove no token of another environment or app, and none for wrong credentials', async () => {
    // With other credentials: nothing was accepted with them yet.
    await setCredentials();
    await replaceDevices(Array.from({ length: GOOD }, (_, one) => appleToken(one % 2 === 0 ? 'bad0' : '7e57')));
    const refused = await push();
    expect(await settled(refused ?? '')).toMatchObject({ targeted: GOOD, rejected: GOOD });
    expect(await invalidDevices()).toBe(0);
    await replaceDevices(tokens);
    await setCredentials({ keyId: 'WRONG12345' });
    const held = (await push()) ?? '';
    await eventually(async () => {
      const { body } = await masterClient(server).get(`/1.1/notifications/${held}`);
      expect(body['vendors']).toMatchObject({ apns: { targeted: DEVICES, waiting: DEVICES } });
    }, SETTLED_MS);
    expect(await invalidDevices()).toBe(0);
    await setCredentials();
    expect(await settled(held)).toMatchObject({ targeted: DEVICES, accepted: DEVICES });
    expect(await invalidDevices()).toBe(0);
    log(`${GOOD} tokens of another environment or app, ${DEVICES} pushes with a wrong key: no device removed`);
  });
});

import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  appleToken,
  type AppKeys,
  ApiClient,
  createApplication,
  eventually,
  gatepost,
  type GatepostServer,
  type Json,
  masterClient,
  newFolder,
  startServices,
  TestProcess,
  unique,
  useVendors,
} from '#testing';

const START_MS = 120_000;
const DEVICES = 1_500;
const AT_ONCE = 20;
const SENDERS = 2;
/** The goal is two seconds; the command line itself takes a part of it. */
const CHANGE_MS = 2_000;

/** PostgreSQL and Redis of its own: those of the other tests may not be crashed. */
describe('pushes to devices of vendors, while servers and vendors fail', () => {
  const vendors = useVendors();
  const servers = new Map<'postgresql' | 'redis', TestProcess>();
  const senders: TestProcess[] = [];
  let server: GatepostServer;
  let silentPort = 0;
  /** A vendor that takes requests and never answers. */
  const silent = createServer(() => undefined);
  const fields = () => Object.entries(vendors().apns.credentials).filter(([name]) => name !== 'privateKey');
  const keyFile = () => {
    const file = join(newFolder('vendors'), 'key');
    writeFileSync(file, vendors().apns.credentials.privateKey);
    return `@${file}`;
  };
  const vendorCommand = async (...args: string[]) => {
    const { status, stdout, stderr } = await gatepost(server, 'vendors', ...args);
    expect([status, stdout, stderr]).toEqual([0, stdout, '']);
  };
  const setApns = (app: string, changes: Readonly<Record<string, string>> = {}) =>
    vendorCommand(
      'set',
      app,
      'apns',
      ...fields().map(([name, value]) => `${name}=${changes[name] ?? value}`),
      `privateKey=${keyFile()}`,
      '--unchecked',
    );
  const startSender = async () => {
    const env = { ...server.env, GATEPOST_PORT: '0', GATEPOST_PUSH_ROLES: 'sender' };
    const sender = TestProcess.start('dist/apps/push-delivery/src/main.js', [], env);
    senders.push(sender);
    await sender.untilLogged(/push-delivery listens on port (\d+)/);
  };
  const crash = async (kind: 'postgresql' | 'redis', awayMs: number) => {
    const own = servers.get(kind)!;
    own.signal('SIGUSR2');
    await sleep(awayMs);
    const before = own.stdout;
    own.signal('SIGHUP');
    await eventually(() => {
      expect(own.stdout).not.toBe(before);
    }, START_MS);
  };
  const register = async (client: ApiClient, all: readonly Json[]) => {
    const ids: string[] = [];
    for (let start = 0; start < all.length; start += AT_ONCE) {
      const some = all.slice(start, start + AT_ONCE).map((one) => client.post('/1.1/installations', one));
      for (const { body } of await Promise.all(some)) ids.push(String(body['objectId']));
    }
    return ids;
  };
  const newTokens = (count: number) => Array.from({ length: count }, () => appleToken());
  const countsOf = async (client: ApiClient, push: string, vendor: string) => {
    const { body } = await client.acceptingUnavailable().get(`/1.1/notifications/${push}`);
    return ((body['vendors'] ?? {}) as Record<string, Json>)[vendor];
  };
  const idsByToken = (tokens: readonly string[]) => {
    const ids = new Map(tokens.map((token) => [token, new Set<unknown>()]));
    for (const { token, headers } of vendors().apns.deliveries) ids.get(token)?.add(headers['apns-id']);
    return ids;
  };

  beforeAll(async () => {
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    silentPort = (silent.address() as AddressInfo).port;
    const urls: Record<string, string> = {};
    for (const [kind, name] of [
      ['postgresql', 'DATABASE_URL'],
      ['redis', 'REDIS_URL'],
    ] as const) {
      const own = TestProcess.start('tools/test/private-server.mjs', [kind], {});
      servers.set(kind, own);
      [urls[name] = ''] = await own.untilPrinted(/\S+:\/\/\S+/, START_MS);
    }
    const env = vendors().env();
    const vendorUrls = `${env['GATEPOST_PUSH_VENDOR_URLS'] ?? ''},meizu=http://127.0.0.1:${silentPort}`;
    server = await startServices(
      { gateway: 1, accounts: 1, dispatcher: 1 },
      { ...env, ...urls, GATEPOST_PUSH_VENDOR_URLS: vendorUrls },
    );
    await eventually(() => setApns(server.app.id), START_MS);
    for (let one = 0; one < SENDERS; one += 1) await startSender();
  }, 3 * START_MS);
  afterAll(async () => {
    await Promise.all(senders.map((sender) => sender.stop()));
    await server.stop();
    await Promise.all([...servers.values()].map((own) => own.stop()));
    silent.closeAllConnections();
    silent.close();
  }, START_MS);

  it(
    'reach each device, and count each once, over restarts of PostgreSQL and Redis',
    { timeout: 3 * START_MS },
    async () => {
      const { apns } = vendors();
      const tokens = newTokens(DEVICES);
      await register(
        masterClient(server),
        tokens.map((deviceToken) => ({ deviceType: 'ios', deviceToken })),
      );
      apns.delayMs = 50;
      const { body } = await masterClient(server).post('/1.1/push', { data: { alert: 'hello' } });
      const push = String(body['objectId']);
      await eventually(() => {
        expect(apns.deliveries.length).toBeGreaterThan(100);
      }, START_MS);
      await crash('postgresql', 500);
      await crash('redis', 500);
      expect(await countsOf(masterClient(server), push, 'apns')).toBeDefined();
      await eventually(async () => {
        const counts = await countsOf(masterClient(server), push, 'apns');
        expect(counts).toMatchObject({ targeted: DEVICES, accepted: DEVICES, waiting: 0 });
      }, START_MS);
      const ids = idsByToken(tokens);
      expect([...ids.values()].map(({ size }) => size)).toEqual(tokens.map(() => 1));
    },
  );

  it(
    'repeat none where a vendor ends its connections in order, and its limit of streams falls',
    { timeout: START_MS },
    async () => {
      const { apns } = vendors();
      const keys = await createApplication(server);
      await setApns(keys.id);
      const master = ApiClient.forMaster(server.baseUrls[0] ?? '', keys);
      const tokens = newTokens(400);
      await register(
        master,
        tokens.map((deviceToken) => ({ deviceType: 'ios', deviceToken })),
      );
      const before = apns.deliveries.length;
      apns.delayMs = 20;
      const { body } = await master.post('/1.1/push', { data: { alert: 'calm' } });
      for (const share of [0.1, 0.3, 0.5]) {
        await eventually(() => {
          expect(apns.deliveries.length - before).toBeGreaterThan(share * tokens.length);
        }, START_MS);
        apns.goAway();
        apns.limitStreams(1);
      }
      apns.limitStreams(1_000);
      await eventually(async () => {
        const counts = await countsOf(master, String(body['objectId']), 'apns');
        expect(counts).toMatchObject({ accepted: tokens.length, waiting: 0 });
      }, START_MS);
      expect(apns.deliveries.length - before).toBe(tokens.length);
    },
  );

  it('use a changed key, and end with a pause, within two seconds in every sender', { timeout: START_MS }, async () => {
    const { apns } = vendors();
    apns.delayMs = 0;
    const keys: AppKeys = await createApplication(server);
    const master = ApiClient.forMaster(server.baseUrls[0] ?? '', keys);
    await setApns(keys.id, { keyId: 'WRONG12345' });
    const [token = ''] = newTokens(1);
    const [device = ''] = await register(master, [{ deviceType: 'ios', deviceToken: token }]);
    const push = async () => {
      const { body } = await master.post('/1.1/push', { where: { objectId: device }, data: { alert: 'key' } });
      return String(body['objectId']);
    };
    const waiting = await Promise.all(Array.from({ length: 8 }, push));
    await eventually(async () => {
      for (const one of waiting) expect(await countsOf(master, one, 'apns')).toMatchObject({ waiting: 1 });
    }, START_MS);
    await setApns(keys.id);
    const changedAt = performance.now();
    await eventually(() => {
      expect(apns.deliveriesTo(token)).toHaveLength(waiting.length);
    }, START_MS);
    expect(performance.now() - changedAt).toBeLessThan(CHANGE_MS);
    await vendorCommand('pause', keys.id, 'apns');
    const held = await Promise.all(Array.from({ length: 8 }, push));
    await sleep(CHANGE_MS);
    expect(apns.deliveriesTo(token)).toHaveLength(waiting.length);
    for (const one of held) expect(await countsOf(master, one, 'apns')).toMatchObject({ waiting: 1, paused: 1 });
    await vendorCommand('resume', keys.id, 'apns');
    const resumedAt = performance.now();
    await eventually(() => {
      expect(apns.deliveriesTo(token)).toHaveLength(waiting.length + held.length);
    }, START_MS);
    expect(performance.now() - resumedAt).toBeLessThan(CHANGE_MS);
  });

  it('go on where another vendor is silent', { timeout: START_MS }, async () => {
    const { apns } = vendors();
    const keys = await createApplication(server);
    const master = ApiClient.forMaster(server.baseUrls[0] ?? '', keys);
    await setApns(keys.id);
    await vendorCommand('set', keys.id, 'meizu', 'appId=400001', `appSecret=${keyFile()}`, '--unchecked');
    const androids = Array.from({ length: 200 }, () => {
      const registrationId = unique('silent');
      return { deviceType: 'android', installationId: unique('a'), vendor: 'mz', registrationId };
    });
    const mute = await register(master, androids);
    const tokens = newTokens(20);
    const devices = await register(
      master,
      tokens.map((deviceToken) => ({ deviceType: 'ios', deviceToken })),
    );
    // More pushes than one lane may hold at once.
    const asleep = await Promise.all(
      mute.slice(0, 100).map((id) => master.post('/1.1/push', { where: { objectId: id }, data: { alert: 'silence' } })),
    );
    const sentAt = performance.now();
    const sent = await Promise.all(
      devices.map((id) => master.post('/1.1/push', { where: { objectId: id }, data: { alert: 'sound' } })),
    );
    await eventually(() => {
      expect(tokens.map((token) => apns.deliveriesTo(token).length)).toEqual(tokens.map(() => 1));
    }, START_MS);
    expect(performance.now() - sentAt).toBeLessThan(5_000);
    expect(await countsOf(master, String(sent[0]?.body['objectId']), 'apns')).toBeDefined();
    const [one] = asleep;
    expect(await countsOf(master, String(one?.body['objectId']), 'meizu')).toMatchObject({ waiting: 1, accepted: 0 });
    await vendorCommand('pause', keys.id, 'meizu');
  });
});

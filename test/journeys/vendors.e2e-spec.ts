import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  appleToken,
  eventually,
  gatepost,
  type GatepostServer,
  type Json,
  masterClient,
  newFolder,
  startServices,
  startStandalone,
  TestProcess,
  useServer,
  useVendors,
} from '#testing';
import { describeSdkDevices } from './suites/sdk-devices.suite.js';
import { describeVendorCredentials } from './suites/vendor-credentials.suite.js';
import { describeVendors } from './suites/vendors.suite.js';

describe('the standalone server', () => {
  const vendors = useVendors();
  const server = useServer(() => startStandalone(vendors().env()));
  describeVendors(server, vendors);
  describeSdkDevices(server, vendors);
  describeVendorCredentials(server, vendors);
});

describe('the services, with a dispatcher and two senders', () => {
  const vendors = useVendors();
  const roles = { dispatcher: 1, connector: 1, sender: 2 };
  describeVendors(
    useServer(() => startServices({ gateway: 1, accounts: 1, 'auth-linking': 1, mail: 1, ...roles }, vendors().env())),
    vendors,
  );
});

const DEVICES = 2_500;
const AT_ONCE = 20;
const START_MS = 90_000;

describe(`a push to ${DEVICES} iPhones, while senders are killed`, () => {
  const vendors = useVendors();
  let server: GatepostServer;
  let sender: TestProcess;
  const tokens = Array.from({ length: DEVICES }, () => appleToken());

  const startSender = async () => {
    const env = { ...server.env, GATEPOST_PORT: '0', GATEPOST_PUSH_ROLES: 'sender' };
    sender = TestProcess.start('dist/apps/push-delivery/src/main.js', [], env);
    await sender.untilLogged(/push-delivery listens on port (\d+)/);
  };

  beforeAll(async () => {
    server = await startServices({ gateway: 1, accounts: 1, dispatcher: 1 }, vendors().env());
    const { privateKey, ...shown } = vendors().apns.credentials;
    const file = join(newFolder('vendors'), 'key');
    writeFileSync(file, privateKey);
    const fields = Object.entries(shown).map(([name, value]) => `${name}=${value}`);
    await eventually(async () => {
      const { status } = await gatepost(
        server,
        'vendors',
        'set',
        server.app.id,
        'apns',
        ...fields,
        `privateKey=@${file}`,
      );
      expect(status).toBe(0);
    }, START_MS);
    for (let start = 0; start < DEVICES; start += AT_ONCE) {
      const some = tokens
        .slice(start, start + AT_ONCE)
        .map((deviceToken) => masterClient(server).post('/1.1/installations', { deviceType: 'ios', deviceToken }));
      for (const { status } of await Promise.all(some)) expect(status).toBe(201);
    }
  }, 2 * START_MS);
  afterAll(async () => {
    await sender.stop();
    await server.stop();
  }, START_MS);

  it('reaches each at least once, always under one id, and counts each once', { timeout: START_MS }, async () => {
    const { apns } = vendors();
    apns.delayMs = 20;
    await startSender();
    const { body } = await masterClient(server).post('/1.1/push', { data: { alert: 'hello' } });
    for (const share of [0.1, 0.4]) {
      await eventually(() => {
        expect(apns.deliveries.length).toBeGreaterThan(share * DEVICES);
      }, START_MS);
      sender.signal('SIGKILL');
      await sender.exited;
      expect(apns.deliveries.length).toBeLessThan(DEVICES);
      await startSender();
    }
    await eventually(async () => {
      const { body: record } = await masterClient(server).get(`/1.1/notifications/${String(body['objectId'])}`);
      const { apns: counts } = record['vendors'] as Record<string, Json>;
      expect(counts).toMatchObject({ targeted: DEVICES, accepted: DEVICES, waiting: 0 });
    }, START_MS);
    const ids = new Map(tokens.map((token) => [token, new Set<unknown>()]));
    for (const { token, headers } of apns.deliveries) ids.get(token)?.add(headers['apns-id']);
    expect([...ids.values()].every(({ size }) => size === 1)).toBe(true);
  });
});

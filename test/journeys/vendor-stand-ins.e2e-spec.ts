import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { memoryStore, PushClient, type PushMessage } from '#push-client';
import {
  appClient,
  appleToken,
  eventually,
  gatepost,
  type GatepostServer,
  type Json,
  masterClient,
  newFolder,
  startStandalone,
  TestProcess,
} from '#testing';

const APP = 'shop';
const START_MS = 120_000;
const PATIENCE_MS = 20_000;
const VENDORS = ['apns', 'fcm', 'web-push', 'huawei', 'honor', 'xiaomi', 'oppo', 'vivo', 'meizu'];
/** By vendor, its name in an installation. */
const ANDROID: Readonly<Record<string, string>> = {
  ...{ fcm: 'fcm', huawei: 'HMS', honor: 'honor', xiaomi: 'mi', oppo: 'oppo', vivo: 'vivo', meizu: 'mz' },
};

/** An operator follows what `npm run vendors:stand-ins` prints. */
describe('the stand-ins of vendors, run by themselves', () => {
  const folder = newFolder('stand-ins');
  const messages: PushMessage[] = [];
  let standIns: TestProcess;
  let server: GatepostServer;
  let client: PushClient;

  const printed = (pattern: RegExp) => [...standIns.stdout.matchAll(pattern)].map(([, text = '']) => text);
  /** Runs a printed command, for the application of the server. */
  const run = (command: string) =>
    gatepost(server, ...command.split(' ').map((word) => (word === APP ? server.app.id : word)));
  const accepted = () => printed(/^(\{.*\})$/gm).map((line) => JSON.parse(line) as Json);

  beforeAll(async () => {
    standIns = TestProcess.start('tools/vendor-stand-ins.mjs', ['--port=0', `--folder=${folder}`, `--app=${APP}`], {});
    await standIns.untilPrinted(/Messages that the stand-ins accept:/, START_MS);
    const environment = printed(/^export (.*)$/gm).map((line) => line.split(/='(.*)'$/, 2) as [string, string]);
    server = await startStandalone(Object.fromEntries(environment));
  }, START_MS);
  afterAll(async () => {
    await client.stop();
    await server.stop();
    await standIns.stop();
  });

  it('take the printed commands: credentials of each vendor, and one message to one device', async () => {
    const commands = printed(/^npm run gatepost -- (vendors set .*)$/gm);
    expect(commands.map((command) => command.split(' ')[3]).toSorted()).toEqual(VENDORS.toSorted());
    for (const command of commands) {
      const { status, stdout, stderr } = await run(command);
      expect([status, stdout, stderr]).toEqual([0, expect.stringContaining('They are checked and set.'), '']);
    }
    for (const command of printed(/^npm run gatepost -- (vendors try .*)$/gm))
      expect(await run(command)).toMatchObject({ status: 0, stderr: '' });
    await eventually(() => {
      const tried = accepted().filter((one) => JSON.stringify(one).includes('Gatepost can reach this device.'));
      expect(tried.map(({ vendor }) => vendor)).toEqual(commands.map((command) => command.split(' ')[3]));
    });
  });

  it('get one push for a device of each vendor, beside a device of our own', async () => {
    const [subscription = ''] = printed(/web-push --token @(\S+)$/gm);
    const token = appleToken();
    const devices: Json[] = [
      { deviceType: 'ios', deviceToken: token },
      { deviceType: 'web', webPush: JSON.parse(readFileSync(subscription, 'utf8')) as Json },
      ...Object.entries(ANDROID).map(([name, vendor]) => ({
        ...{ deviceType: 'android', installationId: `${name}-phone`, vendor, registrationId: `${name}-token` },
      })),
    ];
    for (const device of devices) expect((await appClient(server).post('/1.1/installations', device)).status).toBe(201);
    client = new PushClient({
      server: server.baseUrls[0] ?? '',
      appId: server.app.id,
      registration: { appKey: server.app.appKey, fields: { deviceType: 'android' } },
      store: memoryStore(),
      WebSocket,
      onMessage: (message) => void messages.push(message),
    });
    client.start();
    await eventually(() => {
      expect(client.state).toBe('connected');
    });
    const before = accepted().length;
    const { body } = await masterClient(server).post('/1.1/push', { data: { alert: 'Lunch is ready' } });
    await eventually(() => {
      const now = accepted().slice(before);
      expect(now.map(({ vendor }) => vendor).toSorted()).toEqual(VENDORS.toSorted());
      expect(now.every((one) => JSON.stringify(one).includes('Lunch is ready'))).toBe(true);
      expect(now.find(({ vendor }) => vendor === 'apns')).toMatchObject({ address: token });
      expect(messages.map(({ data }) => data['alert'])).toEqual(['Lunch is ready']);
    }, PATIENCE_MS);
    await eventually(async () => {
      const { body: record } = await masterClient(server).get(`/1.1/notifications/${String(body['objectId'])}`);
      expect(record).toMatchObject({ status: 'done', devices: 10, successes: 10, lcSuccesses: 1, errors: null });
    }, PATIENCE_MS);
  });

  it('end with an interrupt', async () => {
    standIns.signal('SIGINT');
    expect(await standIns.exited).toEqual({ status: 0, signal: null });
  });
});

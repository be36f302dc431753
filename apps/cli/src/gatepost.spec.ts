import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { operatorSocketPath } from '#bootstrap';
import {
  accountsIndexesRpc,
  application,
  applicationsRpc,
  deliveriesRpc,
  diagnosticsRpc,
  identitiesRpc,
  platformsRpc,
  pushIndexesRpc,
  pushOperationsRpc,
  type RpcContract,
  type ShownDelivery,
  vendorsRpc,
} from '#contracts';
import { appError } from '#errors';
import { type ServedOperators, serveOperators } from '#messaging';
import { FakeTransport } from '#testing';
import { runGatepost } from './gatepost.js';

const CONTRACTS = [
  accountsIndexesRpc,
  applicationsRpc,
  deliveriesRpc,
  diagnosticsRpc,
  identitiesRpc,
  platformsRpc,
  pushIndexesRpc,
  pushOperationsRpc,
  vendorsRpc,
].flatMap((group) => Object.values<RpcContract>(group));
const SHOP = application.parse({
  id: 'shop',
  name: 'Shop',
  appKey: 'key',
  masterKey: randomUUID(),
  settings: {},
  createdAt: '2026-01-01T00:00:00.000Z',
});

let services: FakeTransport;
let folder: string;
let socket: ServedOperators;
beforeEach(async () => {
  services = new FakeTransport();
  folder = mkdtempSync(join(tmpdir(), 'gatepost-'));
  socket = await serveOperators(operatorSocketPath(folder), CONTRACTS, () => services);
});
afterEach(async () => {
  await socket.close();
  rmSync(folder, { recursive: true });
});

/** Runs a command on a standalone server whose services are planned. */
async function gatepost(...args: string[]) {
  let [stdout, stderr] = ['', ''];
  const status = await runGatepost(args, {
    env: { GATEPOST_DATA_DIR: folder, DATABASE_URL: 'postgres://localhost:1/gatepost' },
    readInput: () => Buffer.from(''),
    openInput: () => Readable.from([]),
    writeOutput: (text) => (stdout += text),
    writeError: (text) => (stderr += text),
  });
  return { status, stdout, stderr };
}

describe('the time for which old keys are kept', () => {
  const rotateKeys = (...option: string[]) => {
    services.answer(applicationsRpc.rotateKeys, () => ({ application: SHOP }));
    return gatepost('apps', 'rotate-keys', 'shop', '--app-key', ...option);
  };

  it.each([
    ['30m', 1_800],
    ['12h', 43_200],
    ['90d', 7_776_000],
    ['until-revoked', null],
  ])('%s', async (text, keepOldSeconds) => {
    expect(await rotateKeys('--keep-old', text)).toMatchObject({ status: 0, stderr: '' });
    expect(services.requestsOf(applicationsRpc.rotateKeys)).toMatchObject([{ id: 'shop', keepOldSeconds }]);
  });

  it('is none without the option', async () => {
    await rotateKeys();
    expect(services.requestsOf(applicationsRpc.rotateKeys)).toEqual([{ id: 'shop', appKey: true, masterKey: false }]);
  });

  it.each(['', '90', '0d', '-1d', '1w', '1.5h', 'forever', '90 d'])('is not %j', async (text) => {
    expect(await rotateKeys(`--keep-old=${text}`)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('90d') as string,
    });
    expect(services.calls).toEqual([]);
  });
});

describe('an unknown application', () => {
  beforeEach(() => {
    services
      .fail(applicationsRpc.get, appError('NOT_FOUND', { message: 'There is no application "nope".' }))
      .answer(pushOperationsRpc.countDevices, () => ({ platforms: {}, connected: 0 }))
      .answer(accountsIndexesRpc.list, () => ({ indexes: [] }))
      .answer(pushIndexesRpc.list, () => ({ indexes: [] }))
      .answer(accountsIndexesRpc.listSlowQueries, () => ({ questions: [] }))
      .answer(pushIndexesRpc.listSlowQueries, () => ({ questions: [] }))
      .answer(deliveriesRpc.list, () => ({ deliveries: [], next: null }))
      .answer(deliveriesRpc.retryDead, () => ({ retried: 0 }));
  });

  it.each([
    'push devices nope',
    'indexes list nope',
    'indexes suggest nope',
    'mails list --app nope',
    'mails retry --dead --app nope',
  ])('is refused by %s', async (command) => {
    expect(await gatepost(...command.split(' '))).toEqual({
      status: 1,
      stdout: '',
      stderr: 'There is no application "nope".\n',
    });
  });

  it('is none of a command that names none', async () => {
    expect(await gatepost('mails', 'list')).toMatchObject({ status: 0, stdout: 'There are none.\n' });
  });
});

it('a socket that cannot be used is reported in one line', async () => {
  await socket.close();
  rmSync(folder, { recursive: true });
  writeFileSync(folder, '');
  const { status, stderr } = await gatepost('apps', 'list');
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^The server in .*: ENOTDIR\. Name .* its user\.\n$/)]);
});

it('a secret setting is not removed by an empty standard input', async () => {
  const { status, stderr } = await gatepost('apps', 'set', 'shop', 'forwardSecret', '-');
  expect([status, stderr]).toEqual([1, expect.stringContaining('forwardSecret: the given file or input is empty.')]);
  expect(services.calledPatterns).toEqual([]);
});

describe('the target of a push', () => {
  const send = (...options: string[]) => {
    services.answer(pushOperationsRpc.send, () => ({ objectId: 'push', createdAt: '2026-01-01T00:00:00.000Z' }));
    return gatepost('push', 'send', 'shop', '--alert', 'Hi', ...options);
  };
  const targets = () => services.requestsOf(pushOperationsRpc.send).map(({ body }) => body['where']);

  it('is a device that matches conditions', async () => {
    expect(await send('--device', 'a', '--where', '{"deviceType":"ios"}')).toMatchObject({ status: 0 });
    expect(targets()).toEqual([{ deviceType: 'ios', installationId: 'a' }]);
  });

  it('is not a device and a condition for its id', async () => {
    const { status, stderr } = await send('--device', 'a', '--where', '{"installationId":"b"}');
    expect([status, stderr]).toEqual([1, 'error: use --device, or installationId in --where, not both\n']);
    expect(targets()).toEqual([]);
  });
});

describe('a migration', () => {
  it.each([[], ['--status']])('without PostgreSQL names the setting that leads there: %s', async (...options) => {
    const { status, stderr } = await gatepost('migrate', ...options);
    expect([status, stderr]).toEqual([1, expect.stringMatching(/ECONNREFUSED.*\. Check that DATABASE_URL \(or /)]);
  });
});

describe('a rescue', () => {
  const rescue = (key: string, ...more: string[]) =>
    gatepost('rescue', '--url', 'https://127.0.0.1', '--id', 'shop', '--master-key-file', key, '--out', 'out', ...more);

  it.each(['2026-02-31', '2026-13-01', '2026-2-1', 'today'])('refuses %s, no day of the calendar', async (day) => {
    const { status, stderr } = await rescue('key', '--since', day);
    expect([status, stderr]).toEqual([1, expect.stringContaining('a day of the calendar, such as 2026-09-20')]);
  });

  it('says that nothing was copied where no server answers', async () => {
    const key = join(folder, 'master-key.txt');
    writeFileSync(key, 'key', { mode: 0o600 });
    const { status, stderr } = await rescue(key);
    expect([status, stderr]).toEqual([1, expect.stringMatching(/\w\. Nothing was copied\.\n$/)]);
  });
});

const healthy = {
  instance: randomUUID(),
  service: 'standalone',
  host: 'host',
  pid: 1,
  version: '0.1.0',
  node: process.version,
  isProduction: false,
  now: new Date().toISOString(),
  problems: [],
  servers: [],
  settings: {},
};

describe('the doctor during an outage', () => {
  it('reports what it has found, although no application can be read', async () => {
    const server = { name: 'postgresql (accounts)', problem: 'PostgreSQL: ECONNREFUSED', facts: null };
    services
      .answer(diagnosticsRpc.standalone, () => ({ ...healthy, servers: [server] }))
      .answer(applicationsRpc.list, () => {
        throw appError('SERVICE_UNAVAILABLE');
      });
    const { status, stdout, stderr } = await gatepost('doctor');
    expect([status, stderr]).toEqual([1, '']);
    expect(stdout).toContain('standalone does not reach postgresql (accounts): "PostgreSQL: ECONNREFUSED".');
    expect(stdout).toContain('The check of applications failed: "The service is temporarily unavailable. Try again.".');
  });

  it('names once a check that fails for several applications, and makes the others', async () => {
    services
      .answer(diagnosticsRpc.standalone, () => healthy)
      .answer(applicationsRpc.list, () => ({ applications: [SHOP, { ...SHOP, id: 'second' }] }))
      .answer(platformsRpc.list, () => ({ platforms: [] }))
      .answer(identitiesRpc.count, () => ({ platforms: [] }))
      .answer(vendorsRpc.listLanes, () => ({ lanes: [], senders: 0 }))
      .answer(deliveriesRpc.list, () => {
        throw appError('SERVICE_UNAVAILABLE');
      });
    const { status, stdout, stderr } = await gatepost('doctor');
    expect([status, stderr]).toEqual([1, '']);
    expect(stdout.match(/ {2}- .*/g)).toEqual([
      '  - The check of messages failed: "The service is temporarily unavailable. Try again." (2 applications).',
    ]);
  });
});

describe('the doctor on mails that wait', () => {
  const MINUTE_MS = 60_000;
  const queuedAgo = (minutes: number): ShownDelivery => ({
    id: randomUUID(),
    appId: 'shop',
    channel: 'mail',
    kind: 'verifyEmail',
    recipient: 'ada@example.com',
    userId: null,
    status: 'queued',
    attempts: 0,
    attemptLog: [],
    lastError: null,
    createdAt: new Date(Date.now() - minutes * MINUTE_MS).toISOString(),
    expiresAt: new Date(Date.now() + MINUTE_MS).toISOString(),
    nextAttemptAt: null,
    settledAt: null,
  });

  /** @param queued the queue of the service mail, newest first */
  const doctor = async (queued: readonly ShownDelivery[]) => {
    services
      .answer(diagnosticsRpc.standalone, () => healthy)
      .answer(applicationsRpc.list, () => ({ applications: [SHOP] }))
      .answer(platformsRpc.list, () => ({ platforms: [] }))
      .answer(identitiesRpc.count, () => ({ platforms: [] }))
      .answer(vendorsRpc.listLanes, () => ({ lanes: [], senders: 1 }))
      .answer(deliveriesRpc.list, ({ status, to = healthy.now, limit }) => {
        const found = queued.filter((each) => each.status === status && each.createdAt < to);
        const deliveries = found.slice(0, limit);
        return { deliveries, next: found.length > limit ? deliveries.at(-1)! : null };
      });
    return gatepost('doctor');
  };

  it('finds late ones behind 500 new ones', async () => {
    const queued = [
      ...Array.from({ length: 500 }, () => queuedAgo(5)),
      ...Array.from({ length: 300 }, () => queuedAgo(120)),
    ];
    const { status, stdout } = await doctor(queued);
    expect([status, stdout]).toEqual([
      1,
      expect.stringContaining('- 300 mails or text messages have been waiting for'),
    ]);
  });

  it('says that there may be more than it has counted', async () => {
    const { stdout } = await doctor(Array.from({ length: 501 }, () => queuedAgo(11)));
    expect(stdout).toContain('- 500 or more mails or text messages have been waiting for');
  });

  it('finds nothing while none waits for long', async () => {
    const { status, stdout } = await doctor([queuedAgo(9)]);
    expect([status, stdout]).toEqual([0, 'No problems found.\n']);
  });
});

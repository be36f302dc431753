import { randomBytes, randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { afterAll, beforeAll } from 'vitest';
import { ApiClient, type AppKeys } from './api-client.js';
import { TestProcess } from './test-process.js';
import { newDatabase, newFolder, newNamespace, testRun } from './test-run.js';

/** Cheap hashing: the tests are about everything else. */
const TEST_PASSWORD_COST = '4';
const READY_TIMEOUT_MS = 150_000;

/** A whole Gatepost under test, of either shape. */
export interface GatepostServer {
  /** One per gateway. */
  readonly baseUrls: readonly string[];
  readonly app: AppKeys;
  readonly processes: readonly ServiceProcess[];
  /** The main process. */
  readonly main: TestProcess;
  /** The environment it was started with; with it the command line finds it. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

interface ServiceProcess {
  readonly service: string;
  readonly pid: number;
  readonly port: number;
}

type Environment = Readonly<Record<string, string>>;

/** Keys of the application that a server under test creates. */
function newAppKeys(): AppKeys {
  const random = () => randomBytes(12).toString('hex');
  return { id: random(), appKey: random(), masterKey: random() };
}

/** Runs `npm run services` in a database and a namespace of its own. */
export async function startServices(
  replicas: Readonly<Record<string, number>>,
  env: Environment = {},
): Promise<GatepostServer> {
  const { amqpUrl, redisUrl } = testRun();
  const app = newAppKeys();
  const firstPort = await freePorts(replicas['gateway'] ?? 1);
  const all = {
    ...appEnvironment(app),
    DATABASE_URL: await newDatabase(),
    REDIS_URL: redisUrl,
    AMQP_URL: amqpUrl,
    GATEPOST_NAMESPACE: newNamespace(),
    GATEPOST_SECRET: randomBytes(32).toString('hex'),
    GATEPOST_PORT: String(firstPort),
    GATEPOST_DATA_DIR: newFolder('services'),
    ...env,
  };
  const counts = { 'auth-linking': 0, console: 0, mail: 0, 'push-delivery': 0, ...replicas };
  const main = TestProcess.start(
    'tools/services.mjs',
    Object.entries(counts).map(([name, count]) => `--${name}=${count}`),
    all,
  );
  const expected = Object.values(counts).reduce((sum, count) => sum + count, 0);
  await main.untilPrinted(new RegExp(`(?:\\{.*\\}\\s+){${expected}}`), READY_TIMEOUT_MS);
  const processes = main.stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ServiceProcess);
  const gateways = processes.filter(({ service }) => service === 'gateway').sort((a, b) => a.port - b.port);
  return server(app, main, all, { processes, baseUrls: gateways.map(({ port }) => `http://127.0.0.1:${port}`) });
}

/** Runs the standalone server over a data folder of its own. */
export async function startStandalone(env: Environment = {}): Promise<GatepostServer> {
  const app = newAppKeys();
  const port = await freePorts(1);
  const all = { ...appEnvironment(app), GATEPOST_PORT: String(port), GATEPOST_DATA_DIR: newFolder('data'), ...env };
  const main = TestProcess.start('tools/start.mjs', [], all);
  await main.untilPrinted(/Gatepost is ready at/, READY_TIMEOUT_MS);
  const processes = [{ service: 'standalone', pid: main.pid, port: Number(all.GATEPOST_PORT) }];
  return server(app, main, all, { processes, baseUrls: [`http://127.0.0.1:${all.GATEPOST_PORT}`] });
}

/** Starts a server before the tests of a suite, and stops it after them. */
export function useServer(start: () => Promise<GatepostServer>): () => GatepostServer {
  let server: GatepostServer | undefined;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server?.stop());
  return () => {
    if (server === undefined) throw new Error('the server is there once the tests run');
    return server;
  };
}

/** A client of the first gateway with the application key. */
export function appClient({ baseUrls, app }: GatepostServer, gateway = 0): ApiClient {
  return ApiClient.forApp(baseUrls[gateway % baseUrls.length] ?? '', app);
}

/** A client of the first gateway with the master key. */
export function masterClient({ baseUrls, app }: GatepostServer): ApiClient {
  return ApiClient.forMaster(baseUrls[0] ?? '', app);
}

function server(
  app: AppKeys,
  main: TestProcess,
  env: Environment,
  rest: Pick<GatepostServer, 'processes' | 'baseUrls'>,
): GatepostServer {
  return {
    ...rest,
    app,
    main,
    env,
    stop: async () => {
      await main.stop();
    },
  };
}

function appEnvironment({ id, appKey, masterKey }: AppKeys): Record<string, string> {
  return {
    GATEPOST_APP_ID: id,
    GATEPOST_APP_KEY: appKey,
    GATEPOST_MASTER_KEY: masterKey,
    GATEPOST_PASSWORD_COST: TEST_PASSWORD_COST,
    GATEPOST_LOG_LEVEL: 'info',
    GATEPOST_HOST: '127.0.0.1',
    // Servers of other tests run beside this one.
    GATEPOST_CONSOLE_PORT: 'off',
    // All tests come from one address.
    GATEPOST_RATE_LIMIT_MESSAGES: 'off',
    GATEPOST_RATE_LIMIT_DEVICE_LOGINS: 'off',
  };
}

/** Below the ports that systems give to connections: one of those could take a port between our look and its use. */
const LOWEST_PORT = 10_000;
const HIGHEST_PORT = 32_000;

/** The first of so many free ports in a row. */
export async function freePorts(count: number): Promise<number> {
  for (;;) {
    const first = randomInt(LOWEST_PORT, HIGHEST_PORT);
    const checks = await Promise.all(Array.from({ length: count }, (_, index) => isFree(first + index)));
    if (checks.every((isPortFree) => isPortFree)) return first;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen(port, '127.0.0.1', () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}

const HASHED = /^gatepost_password_hash_duration_seconds_count (\d+)$/gm;

/** How many passwords all processes of a server have hashed or compared so far, by their metrics. */
export async function hashedPasswords({ processes }: Pick<GatepostServer, 'processes'>): Promise<number> {
  const metrics = processes.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
  const counts = (await Promise.all(metrics)).flatMap((text) => [...text.matchAll(HASHED)]);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

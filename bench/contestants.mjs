// Starts what is compared: the services, the standalone server and the bare server, each with one user signed up.
import { spawn } from 'node:child_process';
import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ensureBuilt, ROOT } from '../tools/prepare.mjs';
import { deleteQueues } from '../tools/test/cleanup.mjs';
import { residentMb } from './report.mjs';
import { embeddedDatabaseUrl, seedUsers } from './seed.mjs';

const SECRET = randomBytes(32).toString('hex');
const APP = {
  GATEPOST_APP_ID: 'benchmark',
  GATEPOST_APP_KEY: 'benchmark-key',
  GATEPOST_MASTER_KEY: 'benchmark-master',
};
const USER = { username: 'bench', password: 'correct horse', email: 'bench@example.com', nickname: 'Bench', level: 1 };
const SERVER_URL = process.env.DATABASE_URL || 'postgres://postgres:postgres@localhost:5432/postgres';
const BROKER_URL = process.env.AMQP_URL || 'amqp://guest:guest@localhost:5672';
const IDLE_SECONDS = 3;

/** Settings of the caller's own Gatepost are not the benchmark's. */
function outerEnvironment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GATEPOST_')));
}

export async function startContestants() {
  ensureBuilt();
  const run = `gatepost_bench_${randomBytes(4).toString('hex')}`;
  await administer(`CREATE DATABASE ${run}`);
  const folder = mkdtempSync(join(tmpdir(), 'gatepost-bench-'));
  // PostgreSQL runs as another user where we are root, and must be able to pass.
  chmodSync(folder, 0o755);
  const processes = [];
  const launch = (name, script, env) => {
    const child = spawn(process.execPath, [join(ROOT, script)], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...outerEnvironment(), GATEPOST_LOG_LEVEL: 'warn', ...env },
    });
    processes.push({ name, child });
    return child;
  };
  const stop = async () => {
    for (const { child } of [...processes].reverse()) await ended(child);
    rmSync(folder, { recursive: true, force: true });
    await administer(`DROP DATABASE ${run} WITH (FORCE)`);
    await deleteQueues(BROKER_URL, [run]);
  };
  try {
    const databaseUrl = withDatabase(run);
    const ports = {
      gateway: await freePort(),
      accounts: await freePort(),
      standalone: await freePort(),
      bare: await freePort(),
    };
    const standalone = launch('standalone', 'dist/apps/standalone/src/main.js', {
      ...APP,
      GATEPOST_PORT: ports.standalone,
      GATEPOST_DATA_DIR: join(folder, 'data'),
    });
    await ready(ports.standalone);
    await sleep(IDLE_SECONDS * 1000);
    const standaloneIdleMb = residentMb(standalone.pid);
    await seedUsers(embeddedDatabaseUrl(join(folder, 'data')), APP.GATEPOST_APP_ID);

    const common = { DATABASE_URL: databaseUrl, GATEPOST_SECRET: SECRET, GATEPOST_NAMESPACE: run };
    await migrate(common);
    launch('accounts', 'dist/apps/accounts/src/main.js', { ...common, ...APP, GATEPOST_PORT: ports.accounts });
    launch('gateway', 'dist/apps/gateway/src/main.js', { ...common, GATEPOST_PORT: ports.gateway });
    await Promise.all([ready(ports.accounts), ready(ports.gateway)]);
    await seedUsers(databaseUrl, APP.GATEPOST_APP_ID);

    const services = await contestant('services', ports.gateway, { accounts: ports.accounts, gateway: ports.gateway });
    const alone = await contestant('standalone', ports.standalone, { standalone: ports.standalone });
    launch('bare', 'bench/bare-server.mjs', {
      DATABASE_URL: databaseUrl,
      PORT: ports.bare,
      APP_ID: APP.GATEPOST_APP_ID,
      TOKEN_HASH: tokenHash(services.user.sessionToken),
    });
    const bare = {
      ...services,
      kind: 'bare',
      url: `http://127.0.0.1:${ports.bare}`,
      lags: async () => [],
    };
    await answering(bare.url);
    const list = [bare, services, alone];
    return {
      list,
      standaloneIdleMb,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function migrate(env) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(ROOT, 'dist/apps/cli/src/main.js'), 'migrate', '--quiet'], {
      stdio: 'inherit',
      env: { ...outerEnvironment(), ...env },
    });
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error('the database could not be migrated'))));
  });
}

async function contestant(kind, port, metricPorts) {
  const url = `http://127.0.0.1:${port}`;
  const keys = { 'x-lc-id': APP.GATEPOST_APP_ID, 'x-lc-key': APP.GATEPOST_APP_KEY };
  const response = await fetch(`${url}/1.1/users`, {
    method: 'POST',
    headers: { ...keys, 'content-type': 'application/json' },
    body: JSON.stringify(USER),
  });
  const user = { ...USER, ...(await response.json()) };
  if (response.status !== 201) throw new Error(`${kind}: sign-up answered ${response.status} ${JSON.stringify(user)}`);
  const lags = () =>
    Promise.all(
      Object.entries(metricPorts).map(async ([name, metricPort]) => [
        kind === name ? name : `${kind}: ${name}`,
        await lagMs(metricPort),
      ]),
    );
  const headers = { ...keys, 'x-lc-session': user.sessionToken };
  const masterHeaders = { ...keys, 'x-lc-key': `${APP.GATEPOST_MASTER_KEY},master` };
  return { kind, url, user, headers, masterHeaders, lags };
}

/** The longest lag since the last look: the metric starts anew with each. */
async function lagMs(port) {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const [, seconds] = /^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text) ?? [];
  return Number(seconds) * 1000;
}

/** The keyed hash under which the service has stored the token, so that the bare server can run the same statement. */
function tokenHash(token) {
  const key = Buffer.from(hkdfSync('sha256', SECRET, '', 'gatepost lookup', 32));
  return createHmac('sha256', key).update(token).digest('hex');
}

async function ready(port) {
  await answering(`http://127.0.0.1:${port}/readyz`, (response) => response.ok);
}

async function answering(url, isFine = () => true) {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const response = await fetch(url).catch(() => undefined);
    if (response !== undefined && isFine(response)) return;
    await sleep(50);
  }
  throw new Error(`${url} does not answer`);
}

function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return undefined;
  child.kill('SIGTERM');
  return new Promise((resolve) => child.once('exit', resolve));
}

async function administer(sql) {
  const client = new pg.Client({ connectionString: SERVER_URL });
  await client.connect();
  await client.query(sql);
  await client.end();
}

function withDatabase(name) {
  const url = new URL(SERVER_URL);
  url.pathname = `/${name}`;
  return url.toString();
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

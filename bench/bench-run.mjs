// A database, a namespace and a folder of the benchmark's own, and the processes that it starts in them.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ensureBuilt, ROOT } from '../tools/prepare.mjs';
import { deleteKeys, deleteQueues } from '../tools/test/cleanup.mjs';

export const SECRET = randomBytes(32).toString('hex');
export const APP = {
  GATEPOST_APP_ID: 'benchmark',
  GATEPOST_APP_KEY: 'benchmark-key',
  GATEPOST_MASTER_KEY: 'benchmark-master',
};
/** Those that the benchmarks use, each in a part of its own. */
export const SERVERS = {
  DATABASE_URL: process.env.DATABASE_URL || 'postgres://postgres:postgres@localhost:5432/postgres',
  REDIS_URL: process.env.REDIS_URL || 'redis://localhost:6379',
  AMQP_URL: process.env.AMQP_URL || 'amqp://guest:guest@localhost:5672',
};

/** `services` is the environment of processes that belong together. */
export async function newBenchRun() {
  ensureBuilt();
  const name = `gatepost_bench_${randomBytes(4).toString('hex')}`;
  const databases = [];
  /** An empty one more. @returns its URL */
  const createDatabase = async (suffix) => {
    const database = suffix === undefined ? name : `${name}_${suffix}`;
    databases.push(database);
    await administer(`CREATE DATABASE ${database}`);
    return withDatabase(database);
  };
  const databaseUrl = await createDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'gatepost-bench-'));
  // PostgreSQL runs as another user where we are root, and must be able to pass.
  chmodSync(folder, 0o755);
  const services = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: SERVERS.REDIS_URL,
    AMQP_URL: SERVERS.AMQP_URL,
    GATEPOST_SECRET: SECRET,
    GATEPOST_NAMESPACE: name,
    GATEPOST_DATA_DIR: folder,
  };
  const children = [];
  const launch = (script, env, { stdio = ['ignore', 'ignore', 'inherit'], execArgv = [] } = {}) => {
    const child = start([script], env, { stdio, execArgv });
    children.push(child);
    return child;
  };
  /** Runs the command line with the settings of one of the servers. */
  const commandOf =
    (env) =>
    (...args) =>
      new Promise((resolve, reject) => {
        const child = start(['dist/apps/cli/src/main.js', ...args], env, { stdio: ['ignore', 'ignore', 'inherit'] });
        child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`gatepost ${args.join(' ')} failed`))));
      });
  const stop = async () => {
    for (const child of [...children].reverse()) await ended(child);
    rmSync(folder, { recursive: true, force: true });
    for (const database of databases) await administer(`DROP DATABASE ${database} WITH (FORCE)`);
    await deleteQueues(SERVERS.AMQP_URL, [name]);
    await deleteKeys(SERVERS.REDIS_URL, name);
  };
  return { folder, services, createDatabase, launch, commandOf, command: commandOf(services), stop };
}

function start([script, ...args], env, { stdio, execArgv = [] }) {
  return spawn(process.execPath, [...execArgv, join(ROOT, script), ...args], {
    stdio,
    env: { ...outerEnvironment(), NODE_ENV: 'production', GATEPOST_LOG_LEVEL: 'warn', ...env },
  });
}

/** Settings of the caller's own Gatepost are not the benchmark's. */
function outerEnvironment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('GATEPOST_') && name !== 'SMTP_URL'),
  );
}

export async function ready(port) {
  await answering(`http://127.0.0.1:${port}/readyz`, (response) => response.ok);
}

export async function answering(url, isFine = () => true) {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const response = await fetch(url).catch(() => undefined);
    if (response !== undefined && isFine(response)) return;
    await sleep(50);
  }
  throw new Error(`${url} does not answer`);
}

export function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return undefined;
  child.kill('SIGTERM');
  return new Promise((resolve) => child.once('exit', resolve));
}

async function administer(sql) {
  const client = new pg.Client({ connectionString: SERVERS.DATABASE_URL });
  await client.connect();
  await client.query(sql);
  await client.end();
}

function withDatabase(name) {
  const url = new URL(SERVERS.DATABASE_URL);
  url.pathname = `/${name}`;
  return url.toString();
}

export function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// Removes whatever a run of the tests has made: processes, databases, queues, exchanges, keys and files.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import amqplib from 'amqplib';
import { Redis } from 'ioredis';
import pg from 'pg';

const END_TIMEOUT_MS = 10_000;
const POLL_MS = 50;
const SERVICES = ['accounts', 'auth-linking', 'console', 'gateway', 'mail', 'push-delivery', 'sample'];
const MOST_RETRIES = 8;

/** Runs every step for which there is a server, whatever becomes of the others. @returns what could not be removed */
export async function cleanUp({ urls, database, namespace, folder }) {
  await endProcesses(folder);
  const outcomes = await Promise.allSettled([
    urls.DATABASE_URL && dropDatabases(urls.DATABASE_URL, database),
    urls.AMQP_URL && deleteQueues(urls.AMQP_URL, namespacesOf(folder, namespace)),
    urls.REDIS_URL && deleteKeys(urls.REDIS_URL, namespace),
  ]);
  rmSync(folder, { recursive: true, force: true });
  return outcomes.filter(({ status }) => status === 'rejected').map(({ reason }) => reason.message);
}

/**
 * Creates the database of this run; its tests make others whose names begin with it. Commits do not wait for the disk: no test crashes this
 * server, and its disk may be slow.
 */
export async function createDatabase(url, database) {
  await withPostgres(url, async (client) => {
    await client.query(`CREATE DATABASE ${database}`);
    await client.query(`ALTER DATABASE ${database} SET synchronous_commit = off`);
  });
}

/** First those that the tests have noted, as an operator would; then whatever of the run is still there. */
async function endProcesses(folder) {
  const noted = join(folder, 'processes');
  await end(existsSync(noted) ? readdirSync(noted).map(Number) : []);
  await end(strays(folder));
}

async function end(pids) {
  for (const pid of pids) signal(pid, 'SIGTERM');
  const deadline = Date.now() + END_TIMEOUT_MS;
  while (pids.some(isAlive) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  for (const pid of pids) signal(pid, 'SIGKILL');
}

/** Processes that name the run's folder in their environment or their command (where the system shows them). */
function strays(folder) {
  const pids = existsSync('/proc/self') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
  return pids.map(Number).filter((pid) => pid !== process.pid && namesFolder(pid, folder));
}

function namesFolder(pid, folder) {
  try {
    return ['environ', 'cmdline'].some((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(folder));
  } catch {
    return false;
  }
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // It is gone.
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch (error) {
    return error.code === 'ENOENT' && !existsSync('/proc/self');
  }
}

async function dropDatabases(url, prefix) {
  await withPostgres(url, async (client) => {
    const { rows } = await client.query('SELECT datname FROM pg_database WHERE starts_with(datname, $1)', [prefix]);
    for (const { datname } of rows) await client.query(`DROP DATABASE IF EXISTS "${datname}" WITH (FORCE)`);
    // A role that owns a database of the run has a name of the same beginning.
    const roles = await client.query('SELECT rolname FROM pg_roles WHERE starts_with(rolname, $1)', [prefix]);
    for (const { rolname } of roles.rows) await client.query(`DROP ROLE IF EXISTS "${rolname}"`);
  });
}

async function withPostgres(url, work) {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function namespacesOf(folder, namespace) {
  const noted = join(folder, 'namespaces');
  return [namespace, ...(existsSync(noted) ? readdirSync(noted) : [])];
}

/** AMQP cannot list queues, but deleting one that is not there is no error. The names: libs/messaging, topology.ts. */
export async function deleteQueues(url, namespaces) {
  const connection = await amqplib.connect(url);
  connection.on('error', () => undefined);
  try {
    const channel = await connection.createChannel();
    for (const namespace of namespaces) {
      await Promise.all(queuesOf(namespace).map((queue) => channel.deleteQueue(queue)));
      await Promise.all([
        channel.deleteExchange(`${namespace}.events`),
        channel.deleteExchange(`${namespace}.broadcasts`),
        channel.deleteExchange(`${namespace}.nodes`),
      ]);
    }
  } finally {
    await connection.close();
  }
}

function queuesOf(namespace) {
  return SERVICES.flatMap((service) => {
    const events = `${namespace}.events.${service}`;
    const retries = Array.from({ length: MOST_RETRIES }, (_, index) => `${events}.retry-${index + 1}`);
    return [`${namespace}.rpc.${service}`, events, `${events}.dead`, ...retries];
  });
}

export async function deleteKeys(url, namespace) {
  const client = new Redis(url, { retryStrategy: null });
  client.on('error', () => undefined);
  try {
    const pages = client.scanStream({ match: `${namespace}*`, count: 1000 });
    for await (const keys of pages) await Promise.all(keys.map((key) => client.unlink(key)));
  } finally {
    client.disconnect();
  }
}

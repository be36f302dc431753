// Provides real PostgreSQL, Redis and RabbitMQ: those that answer, else containers, else private ones from installed programs.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { privateServers } from './private-servers.mjs';
import { answers, untilAnswers } from './probe.mjs';

const execute = promisify(execFile);

const CONTAINER_START_MS = 120_000;
const CONTAINERS = {
  postgresql: {
    image: 'postgres:17-alpine',
    port: 5432,
    env: ['POSTGRES_PASSWORD=postgres'],
    url: (address) => `postgres://postgres:postgres@${address}/postgres`,
  },
  redis: { image: 'redis:7-alpine', port: 6379, env: [], url: (address) => `redis://${address}` },
  rabbitmq: { image: 'rabbitmq:4-alpine', port: 5672, env: [], url: (address) => `amqp://guest:guest@${address}` },
};

/** The servers by their parts: the variables that name them, and where they usually stand. */
export const SERVERS = {
  postgresql: { variable: 'DATABASE_URL', defaultUrl: 'postgres://postgres:postgres@localhost:5432/postgres' },
  redis: { variable: 'REDIS_URL', defaultUrl: 'redis://localhost:6379' },
  rabbitmq: { variable: 'AMQP_URL', defaultUrl: 'amqp://guest:guest@localhost:5672' },
};

/** @returns the server that answers at its variable or its usual port, else one in a container, else why there is neither */
export async function runningServer(kind) {
  const { variable, defaultUrl } = SERVERS[kind];
  const url = process.env[variable] || defaultUrl;
  if (await answers(kind, url)) return { url, how: `the one at ${withoutPassword(url)}` };
  const problem = `none answers at ${variable} (${withoutPassword(url)})`;
  if (!(await isDockerUsable())) return { problem: `${problem}, and no Docker engine runs` };
  return startContainer(kind).then(
    (started) => ({ ...started, how: 'a container of its own' }),
    (error) => ({ problem: `${problem}, and no container could be started (${firstLine(error)})` }),
  );
}

/** @returns a private server from an installed program, or why there is none */
export async function privateServer(kind) {
  return privateServers[kind]().then(
    (started) =>
      started === undefined
        ? { problem: 'its program is not installed' }
        : { ...started, how: 'a private one of its own' },
    (error) => ({ problem: firstLine(error) }),
  );
}

function firstLine(error) {
  return error.message.split('\n')[0];
}

function withoutPassword(url) {
  return URL.canParse(url) ? new URL(url).host : 'not a URL';
}

/** Whether an engine runs that we may use. */
async function isDockerUsable() {
  return execute('docker', ['info'], { timeout: 10_000 }).then(
    () => true,
    () => false,
  );
}

/** Starts a server of the kind in a container of its own. Resolves when it answers. */
async function startContainer(kind) {
  const { image, port, env, url } = CONTAINERS[kind];
  const flags = ['--detach', '--rm', '--publish', `127.0.0.1::${port}`, ...env.flatMap((pair) => ['--env', pair])];
  const { stdout } = await execute('docker', ['run', ...flags, image]);
  const id = stdout.trim().split('\n').at(-1);
  const stop = () => execute('docker', ['rm', '--force', '--volumes', id]).then(() => undefined);
  try {
    const published = await execute('docker', ['port', id, String(port)]);
    const address = published.stdout.trim().split('\n')[0];
    await untilAnswers(kind, url(address), CONTAINER_START_MS);
    return { url: url(address), stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}

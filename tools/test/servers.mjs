// Provides real PostgreSQL, Redis and RabbitMQ: those that answer, else containers, else private ones from installed programs.
import { isDockerUsable, startContainer } from './docker-servers.mjs';
import { privateServers } from './private-servers.mjs';
import { answers } from './probe.mjs';

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

// Provides real PostgreSQL, Redis and RabbitMQ, each by the first way that works.
import { isDockerUsable, startContainer } from './docker-servers.mjs';
import { privateServers } from './private-servers.mjs';
import { answers } from './probe.mjs';
import { canInstall, install } from './system-packages.mjs';

const SERVERS = [
  {
    kind: 'postgresql',
    name: 'PostgreSQL',
    variable: 'DATABASE_URL',
    defaultUrl: 'postgres://postgres:postgres@localhost:5432/postgres',
  },
  { kind: 'redis', name: 'Redis', variable: 'REDIS_URL', defaultUrl: 'redis://localhost:6379' },
  { kind: 'rabbitmq', name: 'RabbitMQ', variable: 'AMQP_URL', defaultUrl: 'amqp://guest:guest@localhost:5672' },
];

/**
 * Provides the servers of the given kinds, all unless told. `tell` gets a line of progress for each.
 * @returns their URLs by variable, and `stop`, which stops those that were started
 * @throws Error with one line that says what is missing
 */
export async function provideServers({ tell, kinds = SERVERS.map(({ kind }) => kind), isPrivate = false }) {
  const wanted = SERVERS.filter(({ kind }) => kinds.includes(kind));
  const stops = [];
  const stop = async () => {
    await Promise.allSettled(stops.splice(0).map((stopOne) => stopOne()));
  };
  const outcomes = await Promise.allSettled(
    wanted.map(async (server) => {
      const { url, how, stop: stopOne } = await provide(server, { tell, isPrivate });
      if (stopOne !== undefined) stops.push(stopOne);
      tell(`${server.name}: ${how}`);
      return [server.variable, url];
    }),
  );
  const missing = outcomes.filter(({ status }) => status === 'rejected').map(({ reason }) => reason.message);
  if (missing.length > 0) {
    await stop();
    throw new Error(missing.join(' '));
  }
  return { urls: Object.fromEntries(outcomes.map(({ value }) => value)), stop };
}

async function provide(server, { tell, isPrivate }) {
  const { kind, name, variable, defaultUrl } = server;
  const url = process.env[variable] || defaultUrl;
  if (!isPrivate && (await answers(kind, url))) return { url, how: `the one at ${withoutPassword(url)}` };
  const problems = [];
  for (const [how, start] of waysToStart(kind, name, tell)) {
    const started = await start().catch((error) => void problems.push(`${how}: ${error.message}`));
    if (started !== undefined) return { ...started, how };
  }
  throw new Error(
    `${name} is missing: none answers at ${variable} (${withoutPassword(url)}), no Docker engine runs, and none could be started from installed programs or packages (${problems.join('; ') || 'not installed, and only root can install packages, with apt-get'}).`,
  );
}

function waysToStart(kind, name, tell) {
  const startPrivate = privateServers[kind];
  return [
    ['a container of its own', async () => ((await isDockerUsable()) ? startContainer(kind) : undefined)],
    ['a private one, from installed programs', () => startPrivate()],
    [
      'a private one, from the system packages',
      async () => (canInstall() ? installAndStart(kind, name, tell, startPrivate) : undefined),
    ],
  ];
}

// Packages are installed one after the other: apt-get locks.
let installation = Promise.resolve();

async function installAndStart(kind, name, tell, startPrivate) {
  const mine = installation.then(() => {
    tell(`${name}: installing it from the system's packages …`);
    install(kind);
  });
  installation = mine.catch(() => undefined);
  await mine;
  return startPrivate();
}

function withoutPassword(url) {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  return parsed === undefined ? 'not a URL' : parsed.host;
}

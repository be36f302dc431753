// Starts what is compared: the services, the standalone server, the bare server and peers, each with the same users.
import { hkdfSync, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answering, APP, ended, freePort, newBenchRun, ready, SECRET, SERVERS } from './bench-run.mjs';
import { listener, memoryMb } from './process-usage.mjs';
import { embeddedDatabaseUrl, seedUsers } from './seed.mjs';

export const IDLE_SECONDS = 3;
const DEFAULT_PORTS = { 'postgres:': 5432, 'postgresql:': 5432, 'redis:': 6379, 'amqp:': 5672 };
/** Those that requests are about, in turn: no two of them wait for each other's row. */
const ANONYMOUS_USERS = 200;
/** Those that log in, in turn: attempts at one user wait for each other. */
const PASSWORD_USERS = 128;
const SIGN_UPS_AT_ONCE = 8;
const GATEPOST_KEYS = { 'x-lc-id': APP.GATEPOST_APP_ID, 'x-lc-key': APP.GATEPOST_APP_KEY };
const GATEPOST = {
  keys: GATEPOST_KEYS,
  masterHeaders: { ...GATEPOST_KEYS, 'x-lc-key': `${APP.GATEPOST_MASTER_KEY},master` },
  sessionHeader: 'x-lc-session',
};

/**
 * Everyone who takes part, running: `start` and `stop` run it again, `processes` are its own, `servers` the ones that it uses besides.
 * @param peers what makes others for a run, beside Gatepost and the bare server
 */
export async function startContestants(peers = []) {
  const run = await newBenchRun();
  try {
    const alone = await standaloneOf(run);
    await populate(alone);
    const services = await servicesOf(run);
    await populate(services);
    const others = [];
    for (const makePeer of peers) others.push(await populate(await makePeer(run)));
    const bare = await bareOf(run, services);
    await restart(bare);
    return { list: [bare, services, alone, ...others], stop: run.stop };
  } catch (error) {
    await run.stop();
    throw error;
  }
}

/** The services alone, running, with their users. */
export async function startServices(run) {
  return populate(await servicesOf(run));
}

/** Starts it again. @returns the milliseconds until it served */
export async function restart(contestant) {
  await Promise.all((contestant.processes ?? []).map(ended));
  const startedAt = performance.now();
  contestant.processes = await contestant.start();
  return performance.now() - startedAt;
}

/** Starts a contestant, looks at what it takes, and gives it its users. */
async function populate(contestant) {
  await restart(contestant);
  await sleep(IDLE_SECONDS * 1000);
  contestant.idleMb = memoryMb(contestant.processes);
  await contestant.seed();
  return Object.assign(contestant, await signUpAll(contestant));
}

async function servicesOf(run) {
  const ports = { gateway: await freePort(), accounts: await freePort(), 'auth-linking': await freePort() };
  await run.command('migrate', '--quiet');
  return {
    ...GATEPOST,
    kind: 'services',
    url: `http://127.0.0.1:${ports.gateway}`,
    servers: serverProcesses('DATABASE_URL', 'REDIS_URL', 'AMQP_URL'),
    start: async () => {
      const children = Object.entries(ports).map(([app, port]) =>
        run.launch(`dist/apps/${app}/src/main.js`, { ...run.services, ...APP, GATEPOST_PORT: port }),
      );
      await Promise.all(Object.values(ports).map(ready));
      return children;
    },
    seed: () => seedUsers(run.services.DATABASE_URL, APP.GATEPOST_APP_ID),
    indexOnly: indexing(run.command),
    lags: () => lagsOf({ accounts: ports.accounts, gateway: ports.gateway }),
  };
}

async function standaloneOf(run) {
  const port = await freePort();
  const folder = join(run.folder, 'data');
  return {
    ...GATEPOST,
    kind: 'standalone',
    url: `http://127.0.0.1:${port}`,
    servers: [],
    start: async () => {
      const env = { ...APP, GATEPOST_PORT: port, GATEPOST_DATA_DIR: folder };
      const child = run.launch('dist/apps/standalone/src/main.js', env);
      await ready(port);
      return [child];
    },
    seed: () => seedUsers(embeddedDatabaseUrl(folder), APP.GATEPOST_APP_ID),
    indexOnly: indexing(run.commandOf({ GATEPOST_DATA_DIR: folder, AMQP_URL: undefined })),
    lags: () => lagsOf({ standalone: port }),
  };
}

/** Creates an operator's index of the one field that a case names, and removes that of the case before. */
function indexing(command) {
  let indexed;
  return async (field) => {
    const index = (action, name) => command('indexes', action, APP.GATEPOST_APP_ID, '_User', name);
    if (indexed !== undefined && indexed !== field) await index('remove', indexed);
    if (field !== undefined && indexed !== field) await index('add', field);
    indexed = field;
  };
}

/** It serves the users of the services, from their database. */
async function bareOf(run, services) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  return {
    ...services,
    kind: 'bare',
    url,
    idleMb: undefined,
    processes: [],
    servers: serverProcesses('DATABASE_URL'),
    start: async () => {
      const child = run.launch('bench/bare-server.mjs', {
        DATABASE_URL: run.services.DATABASE_URL,
        PORT: port,
        APP_ID: APP.GATEPOST_APP_ID,
        LOOKUP_KEY: lookupKey().toString('hex'),
      });
      await answering(url);
      return [child];
    },
    lags: async () => [],
  };
}

/** The servers on this machine that a contestant shares with others. */
export function serverProcesses(...variables) {
  return variables
    .map((variable) => {
      const { port, protocol } = new URL(SERVERS[variable]);
      const server = listener(Number(port || DEFAULT_PORTS[protocol]));
      if (server === undefined)
        process.stderr.write(`${variable} is not on this machine: its processor time is left out.\n`);
      return server;
    })
    .filter((server) => server !== undefined);
}

/** The users that requests are about. */
async function signUpAll({ kind, url, keys, sessionHeader }) {
  const signUp = async (fields) => {
    const response = await fetch(`${url}/1.1/users`, {
      method: 'POST',
      headers: { ...keys, 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
    const answer = await response.json();
    if (response.status !== 201)
      throw new Error(`${kind}: sign-up answered ${response.status} ${JSON.stringify(answer)}`);
    return { ...answer, headers: { ...keys, [sessionHeader]: answer.sessionToken } };
  };
  const passwordUsers = Array.from({ length: PASSWORD_USERS }, (_, index) => passwordUser(index));
  for (let from = 0; from < PASSWORD_USERS; from += SIGN_UPS_AT_ONCE)
    await Promise.all(passwordUsers.slice(from, from + SIGN_UPS_AT_ONCE).map(signUp));
  const users = [];
  for (let index = 0; index < ANONYMOUS_USERS; index += 1)
    users.push(await signUp({ authData: { anonymous: { id: randomUUID() } }, nickname: 'Bench', level: 1 }));
  return { passwordUsers, users, headers: keys };
}

function passwordUser(index) {
  const username = `bench${index}`;
  return { username, password: 'correct horse', email: `${username}@example.com`, nickname: 'Bench', level: 1 };
}

/** The longest lag of each process since the last look: the metric starts anew with each. */
function lagsOf(ports) {
  return Promise.all(
    Object.entries(ports).map(async ([name, port]) => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      const [, seconds] = /^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text) ?? [];
      return [name, Number(seconds) * 1000];
    }),
  );
}

/** With it the services look tokens up, so that the bare server can run the same statement. */
function lookupKey() {
  return Buffer.from(hkdfSync('sha256', SECRET, '', 'gatepost lookup', 32));
}

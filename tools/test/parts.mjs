// The parts that tests need besides Node and npm: what is there, what can be started, what may be installed, and what is missing.
import pg from 'pg';
import { installedPrograms, isKubectlNewEnough, majorOf } from './installed-programs.mjs';
import { privateServer, runningServer, SERVERS } from './servers.mjs';
import { candidateOf, canInstall, install, updateLists } from './system-packages.mjs';

/** The parts: what they are called, the package of Debian and its relatives, and how to get them without it. */
export const PARTS = {
  postgresql: { name: 'PostgreSQL', remedy: 'name one in DATABASE_URL' },
  redis: { name: 'Redis', package: 'redis-server', remedy: 'name one in REDIS_URL, or install redis-server' },
  rabbitmq: {
    name: 'RabbitMQ',
    package: 'rabbitmq-server',
    remedy: 'name one in AMQP_URL, or install rabbitmq-server',
  },
  'redis-server': { name: 'the program redis-server', package: 'redis-server', remedy: 'install Redis' },
  'rabbitmq-server': { name: 'the program rabbitmq-server', package: 'rabbitmq-server', remedy: 'install RabbitMQ' },
  // The server too: a client that is older than the server dumps nothing, and the private server is then of the client's version.
  'postgresql-client': { name: 'pg_dump', package: 'postgresql', remedy: 'install the client programs of PostgreSQL' },
  browser: {
    name: 'Chromium',
    package: 'chromium',
    remedy: 'install Chromium or Chrome, or run "npx playwright-core install chromium", or name one in CHROMIUM_PATH',
  },
  kubectl: {
    name: 'kubectl',
    package: 'kubernetes-client',
    remedy: 'install 1.27 or newer (https://kubernetes.io/docs/tasks/tools), or name one in KUBECTL_PATH',
    isNewEnough: isKubectlNewEnough,
  },
};
const DUMP = 'postgresql-client';

/**
 * Provides the wanted parts. Missing ones are installed if root may do so and TEST_INSTALL is not "no", which is announced before.
 * @param without parts that count as missing
 * @returns the provided parts (`url` or `path`); the reasons of the `missing` ones; and `stop`, which stops the started servers
 */
export async function provideParts({ wanted, without, log }) {
  const missing = new Map(
    without.filter((part) => wanted.includes(part)).map((part) => [part, 'TEST_WITHOUT names it']),
  );
  const there = new Map();
  const look = async (part, find) => {
    const { problem, ...provided } = await find(part);
    if (problem !== undefined) return missing.set(part, problem);
    missing.delete(part);
    there.set(part, provided);
    return log(`${PARTS[part].name}: ${provided.how ?? `the one at ${provided.path}`}`);
  };
  const asked = wanted.filter((part) => !missing.has(part));
  const [servers, programs] = [asked.filter((part) => part in SERVERS), asked.filter((part) => !(part in SERVERS))];
  await Promise.all(servers.map((part) => look(part, runningServer)));
  for (const part of programs) await look(part, (name) => installedPrograms[name]());

  const open = () => asked.filter((part) => missing.has(part));
  const problems = installMissing(open().filter(lacksProgram), log);
  for (const part of open().filter((name) => !servers.includes(name)))
    await look(part, (name) => installedPrograms[name]());
  // Private ones come last: where programs were installed, they are what is started.
  await Promise.all(
    open()
      .filter((part) => servers.includes(part))
      .map(startPrivate),
  );
  for (const [part, problem] of problems) if (missing.has(part)) missing.set(part, `${missing.get(part)}; ${problem}`);
  await dropOldDump(there, missing);
  return { there, missing, stop: () => Promise.allSettled([...there.values()].map(({ stop }) => stop?.())) };

  async function startPrivate(part) {
    const before = missing.get(part);
    await look(part, privateServer);
    if (missing.has(part)) missing.set(part, `${before}, and ${missing.get(part)}`);
  }
}

/** A PostgreSQL comes with the packages of npm, and servers are started from the programs that other parts are. */
function lacksProgram(part) {
  if (part === 'postgresql') return false;
  const program = { redis: 'redis-server', rabbitmq: 'rabbitmq-server' }[part];
  return program === undefined || installedPrograms[program]().path === undefined;
}

/** @returns why parts could not be installed, by part */
function installMissing(parts, log) {
  if (parts.length === 0) return new Map();
  if (process.env.TEST_INSTALL === 'no') return reasons(parts, 'TEST_INSTALL=no forbids to install it');
  if (!canInstall()) return reasons(parts, 'only root can install packages, with apt-get');
  log(`Missing here, and needed by the selected tests: ${parts.map((part) => PARTS[part].name).join(', ')}.`);
  log(
    "As root on a system with apt-get, this fetches its lists of packages and installs what is missing from the system's packages.",
  );
  log('To do without, end it and run it with TEST_INSTALL=no: what needs them is then left out, and listed.');
  try {
    updateLists();
  } catch (error) {
    return reasons(parts, `the lists of packages could not be fetched (${error.message})`);
  }
  const packages = [...new Set(parts.map((part) => PARTS[part].package))].map((name) => ({ name, ...candidate(name) }));
  const wanted = packages.filter(({ version }) => version !== undefined);
  if (wanted.length > 0) log(`Installing ${wanted.map(({ name, version }) => `${name} ${version}`).join(', ')} …`);
  const outcomes = new Map(packages.map(({ name, problem }) => [name, problem ?? installOne(name)]));
  return new Map(parts.map((part) => [part, outcomes.get(PARTS[part].package)]).filter(([, problem]) => problem));
}

/** @returns the version that would be installed, or why the package is of no use; what is too old is not installed at all */
function candidate(name) {
  const version = candidateOf(name);
  if (version === undefined) return { problem: `the system has no package ${name}` };
  const { isNewEnough = () => true } = Object.values(PARTS).find((part) => part.package === name);
  return isNewEnough(version) ? { version } : { problem: `the system's package ${name} is too old (${version})` };
}

/** @returns what went wrong */
function installOne(name) {
  try {
    install(name);
    return undefined;
  } catch (error) {
    return `${name} could not be installed (${error.message})`;
  }
}

/** pg_dump reads no server that is newer than itself. */
async function dropOldDump(there, missing) {
  if (!there.has(DUMP) || !there.has('postgresql')) return;
  const [own, server] = [majorOf(there.get(DUMP).path), await serverMajor(there.get('postgresql').url)];
  if (own >= server) return;
  there.delete(DUMP);
  missing.set(DUMP, `the one on the PATH is of version ${own}, and the server of version ${server}`);
}

async function serverMajor(connectionString) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query("SELECT current_setting('server_version_num')::int / 10000 AS major");
    return rows[0].major;
  } finally {
    await client.end();
  }
}

function reasons(parts, reason) {
  return new Map(parts.map((part) => [part, reason]));
}

// Starts servers of our own from installed programs: own ports, own folders, stopped and removed afterwards.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { postgresBinaries, postgresUser } from '../../dist/apps/standalone/src/embedded-postgres/postgres-files.js';
import { untilAnswers } from './probe.mjs';
import { isProgram, programOf } from './programs.mjs';

const START_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 20_000;
const DEBIAN_POSTGRESQL = '/usr/lib/postgresql';
const DEBIAN_RABBITMQ = '/usr/lib/rabbitmq/bin';

/**
 * Starts a server of each kind; undefined where its program is not installed. Resolves when the server answers. With `isDurable` it keeps
 * on its disk what it has acknowledged, as a server in production does, and `crash` and `revive` are honest.
 */
export const privateServers = {
  postgresql: startPostgres,
  redis: startRedis,
  sentinel: startSentinel,
  rabbitmq: startRabbit,
};

/** Where their programs stand; undefined where they are not installed. */
export const privatePrograms = { rabbitmq: rabbitProgram };

async function startPostgres({ isDurable = false } = {}) {
  const user = postgresUser();
  const bin = postgresFolder(user);
  const [home, port, password] = [makeFolder('postgresql'), await freePort(), randomBytes(12).toString('hex')];
  const [data, passwordFile] = [join(home, 'data'), join(home, 'password')];
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user) for (const path of [home, data, passwordFile]) chownSync(path, user.uid, user.gid);
  const options = { cwd: home, ...user, env: { ...process.env, LC_ALL: 'C' } };
  execFileSync(
    join(bin, 'initdb'),
    [
      '-D',
      data,
      '-U',
      'postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ],
    { ...options, stdio: 'pipe' },
  );
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: home,
    fsync: isDurable ? 'on' : 'off',
    max_connections: 200,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return ready('postgresql', `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, home, {
    start: () => follow(join(bin, 'postgres'), ['-D', data, ...flags], { ...options, home }),
    signal: 'SIGINT',
    // Its children hold the shared memory: they end at once too, and nothing is written down.
    crashSignal: 'SIGQUIT',
  });
}

/** @param settings lines of its configuration, such as `cluster-enabled yes` */
async function startRedis({ isDurable = false, settings = [] } = {}) {
  // `everysec` may forget a second, and what is forgotten cannot be accounted for.
  const durability = isDurable ? ['appendonly yes', 'appendfsync always'] : ['appendonly no'];
  return startRedisProgram([...durability, 'save ""', ...settings], []);
}

/** @param settings as above; `sentinel monitor …` */
async function startSentinel({ settings = [] } = {}) {
  return startRedisProgram(settings, ['--sentinel']);
}

async function startRedisProgram(settings, args) {
  const program = programOf('redis-server') ?? programOf('valkey-server');
  if (program === undefined) return undefined;
  const [home, port] = [makeFolder('redis'), await freePort()];
  const given = settings.find((line) => line.startsWith('requirepass '));
  const password = given?.slice('requirepass '.length) ?? randomBytes(12).toString('hex');
  const own = [`port ${port}`, 'bind 127.0.0.1', `dir ${home}`, `requirepass ${password}`];
  const file = join(home, 'redis.conf');
  writeFileSync(file, [...own, ...settings, ''].join('\n'), { mode: 0o600 });
  const start = () => follow(program, [file, ...args], { cwd: home, home });
  return ready('redis', `redis://:${password}@127.0.0.1:${port}`, home, { start, signal: 'SIGTERM' });
}

/** @param settings lines of its configuration @param plugins the names of plugins that ship with it */
async function startRabbit({ settings = [], plugins = [] } = {}) {
  const [program, epmd] = [rabbitProgram(), epmdProgram()];
  if (program === undefined) return undefined;
  const home = makeFolder('rabbitmq');
  const [port, distributionPort, epmdPort] = [await freePort(), await freePort(), await freePort()];
  for (const folder of ['home', 'mnesia', 'log']) mkdirSync(join(home, folder));
  const own = [`listeners.tcp.1 = 127.0.0.1:${port}`, 'log.file = false', 'log.console = true'];
  writeFileSync(join(home, 'rabbitmq.conf'), [...own, 'log.console.level = warning', ...settings, ''].join('\n'));
  writeFileSync(join(home, 'rabbitmq-env.conf'), '');
  writeFileSync(join(home, 'enabled_plugins'), `[${plugins.join(', ')}].\n`);
  // A name server of its own, in the foreground: Erlang would leave one behind.
  const names = follow(epmd, ['-address', '127.0.0.1', '-port', String(epmdPort)], { cwd: home, home });
  const env = rabbitEnvironment(home, { port, distributionPort, epmdPort });
  const control = controlScript(home, env);
  const server = await ready('rabbitmq', `amqp://guest:guest@127.0.0.1:${port}`, home, {
    start: () => follow(program, [], { cwd: home, home, env }),
    signal: 'SIGTERM',
    companions: [names],
  });
  return { ...server, control };
}

/** Writes a script that runs rabbitmqctl on the server: a test raises alarms with it. @returns its path */
function controlScript(home, env) {
  const control = join(home, 'control.sh');
  // Debian's rabbitmqctl on the PATH changes the user, and then finds another cookie.
  const program = programOf('rabbitmqctl', [DEBIAN_RABBITMQ]);
  const set = ['HOME', 'ERL_EPMD_PORT', 'RABBITMQ_CONF_ENV_FILE'].map((name) => `${name}='${env[name]}'`).join(' ');
  writeFileSync(control, `#!/bin/sh\nexec env ${set} '${program}' -n '${env.RABBITMQ_NODENAME}' "$@"\n`, {
    mode: 0o755,
  });
  return control;
}

function rabbitProgram() {
  return epmdProgram() === undefined ? undefined : programOf('rabbitmq-server', [DEBIAN_RABBITMQ]);
}

function epmdProgram() {
  return programOf('epmd', erlangFolders());
}

function rabbitEnvironment(home, { port, distributionPort, epmdPort }) {
  return {
    ...process.env,
    HOME: join(home, 'home'),
    ERL_EPMD_PORT: String(epmdPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: `gatepost-test-${port}@localhost`,
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distributionPort),
    RABBITMQ_MNESIA_BASE: join(home, 'mnesia'),
    RABBITMQ_LOG_BASE: join(home, 'log'),
    RABBITMQ_CONF_ENV_FILE: join(home, 'rabbitmq-env.conf'),
    RABBITMQ_CONFIG_FILE: join(home, 'rabbitmq.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(home, 'enabled_plugins'),
    RABBITMQ_PID_FILE: join(home, 'pid'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+sbwt none +sbwtdcpu none +sbwtdio none +S 2:2',
  };
}

/** The running server, once it answers, with its `stop`; `crash` ends it as a crash does, `revive` starts it again on what it has on disk. */
async function ready(kind, url, home, { start, signal, crashSignal = 'SIGKILL', companions = [] }) {
  let server = start();
  const untilItAnswers = () =>
    untilAnswers(kind, url, START_TIMEOUT_MS, () => server.exitCode === null && server.signalCode === null);
  const stop = async () => {
    await end(server, signal);
    for (const companion of companions) await end(companion, 'SIGTERM');
    rmSync(home, { recursive: true, force: true });
  };
  const crash = () => end(server, crashSignal);
  const revive = async () => {
    server = start();
    await untilItAnswers();
  };
  try {
    await untilItAnswers();
    return { url, pid: server.pid, stop, crash, revive };
  } catch (error) {
    const log = readFileSync(join(home, 'log.txt'), 'utf8').trim().split('\n').slice(-5).join('\n');
    await stop();
    throw new Error(`a private ${kind} could not be started: ${error.message}\n${log}`, { cause: error });
  }
}

/** Starts a program in a session of its own (Ctrl-C reaches us alone), its output in a file. */
function follow(program, args, { home, ...options }) {
  const log = openSync(join(home, 'log.txt'), 'a');
  const child = spawn(program, args, { ...options, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  child.on('error', () => undefined);
  return child;
}

async function end(child, signal) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  // The whole session: rabbitmq-server is a script that waits for its virtual machine.
  const kill = (name) => {
    try {
      process.kill(-child.pid, name);
    } catch {
      /* it is gone */
    }
  };
  if (signal === 'SIGINT' || signal === 'SIGQUIT') child.kill(signal);
  else kill(signal);
  const timer = setTimeout(kill, STOP_TIMEOUT_MS, 'SIGKILL');
  await exited;
  clearTimeout(timer);
}

function makeFolder(name) {
  const folder = mkdtempSync(join(tmpdir(), `gatepost-test-${name}-`));
  chmodSync(folder, 0o755);
  return folder;
}

/** Below the ports that systems give to connections: one of those could take it between our look and its use. */
async function freePort() {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** The system's newest PostgreSQL, else the one that the standalone server embeds, where its user can reach it. */
function postgresFolder(user) {
  const versions = existsSync(DEBIAN_POSTGRESQL)
    ? readdirSync(DEBIAN_POSTGRESQL).sort((a, b) => Number(b) - Number(a))
    : [];
  const folders = versions.map((version) => join(DEBIAN_POSTGRESQL, version, 'bin'));
  const onPath = programOf('initdb');
  const installed = [...folders, ...(onPath === undefined ? [] : [dirname(onPath)])].find(
    (folder) => isProgram(join(folder, 'initdb')) && isProgram(join(folder, 'postgres')),
  );
  return installed ?? dirname(postgresBinaries(user).postgres);
}

function erlangFolders() {
  const home = '/usr/lib/erlang';
  return existsSync(home)
    ? readdirSync(home)
        .filter((name) => name.startsWith('erts-'))
        .map((name) => join(home, name, 'bin'))
    : [];
}

// npm run services: every service as a process of its own, against real PostgreSQL, Redis and RabbitMQ.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, fail, readArguments, ROOT } from './prepare.mjs';

const SERVICES = {
  gateway: { app: 'gateway', replicas: 1 },
  accounts: { app: 'accounts', replicas: 1 },
  'auth-linking': { app: 'auth-linking', replicas: 1 },
  console: { app: 'console', replicas: 1 },
  mail: { app: 'mail', replicas: 1 },
  'push-delivery': { app: 'push-delivery', replicas: 1 },
  dispatcher: { app: 'push-delivery', replicas: 0, env: { GATEPOST_PUSH_ROLES: 'dispatcher' } },
  connector: { app: 'push-delivery', replicas: 0, env: { GATEPOST_PUSH_ROLES: 'connector' } },
  sender: { app: 'push-delivery', replicas: 0, env: { GATEPOST_PUSH_ROLES: 'sender' } },
};
const READY_POLL_MS = 100;
const READY_TIMEOUT_MS = 120_000;
const HELP = `Usage: npm run services -- [--gateway=N] [--accounts=N] [--auth-linking=N] [--mail=N] [--push-delivery=N]
                          [--console=N] [--dispatcher=N] [--connector=N] [--sender=N]

Runs each service as a process of its own against PostgreSQL (DATABASE_URL), Redis (REDIS_URL) and RabbitMQ (AMQP_URL),
after bringing the database up to date. N: replicas, 1 by default, 0 for none. --dispatcher, --connector and --sender are
processes of push-delivery with one of its roles, none by default: with --push-delivery=0 they stand for it. Gateways listen on
GATEPOST_PORT (8080) and the ports after it, consoles on GATEPOST_CONSOLE_PORT (8090; off: none) and the ports after it,
the other services on free ports. Prints one JSON line per process once it is ready: service, pid, port.
`;

const { values } = readArguments({
  options: {
    help: { type: 'boolean' },
    ...Object.fromEntries(
      Object.entries(SERVICES).map(([name, { replicas }]) => [name, { type: 'string', default: String(replicas) }]),
    ),
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
for (const name of Object.keys(SERVICES))
  if (!/^\d{1,2}$/.test(values[name])) fail(`--${name} takes a number of replicas.`);

ensureBuilt();
const { storedSecret } = await import('../dist/apps/standalone/src/data-folder/data-folder.js');
const firstPort = Number(process.env.GATEPOST_PORT || 8080);
const env = {
  ...process.env,
  // A gateway that takes a free port says itself that it needs this one.
  GATEPOST_BASE_URL: process.env.GATEPOST_BASE_URL || (firstPort === 0 ? '' : `http://localhost:${firstPort}`),
  GATEPOST_SECRET: process.env.GATEPOST_SECRET || servicesSecret(),
};
await migrate();

const children = [];
let isStopping = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(0));
// Writing to a closed terminal must not end this process before the services.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

if (process.env.GATEPOST_CONSOLE_PORT === 'off') values.console = '0';
const starts = Object.keys(SERVICES).flatMap((service) =>
  Array.from({ length: Number(values[service]) }, (_, replica) => start(service, portOf(service, replica))),
);
await Promise.all(starts);

/** The port of a replica; 0 takes a free one. */
function portOf(service, replica) {
  const first = { gateway: firstPort, console: Number(process.env.GATEPOST_CONSOLE_PORT || 8090) }[service] ?? 0;
  return first === 0 ? 0 : first + replica;
}

/** Starts a process, and prints its line when it is ready. */
async function start(service, port) {
  const { app, env: own } = SERVICES[service];
  const child = spawn(process.execPath, [join(ROOT, 'dist', 'apps', app, 'src', 'main.js')], {
    env: {
      ...env,
      ...own,
      ...(app === 'console' ? { GATEPOST_CONSOLE_PORT: String(port) } : { GATEPOST_PORT: String(port) }),
    },
    // Its output for developers goes to our standard error: our standard output is for programs. It reports its port over the channel.
    stdio: ['ignore', 2, 'inherit', 'ipc'],
    // Ctrl-C reaches us alone; we pass it on once.
    detached: true,
  });
  children.push(child);
  child.once('exit', (code, signal) => {
    if (isStopping) return;
    process.stderr.write(`${service} (process ${child.pid}) ended: ${signal ?? `status ${code}`}\n`);
    if (children.every(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null)) process.exit(1);
  });
  const deadline = Date.now() + READY_TIMEOUT_MS;
  const listening = await listeningPort(child);
  if (listening === undefined || !(await isReady(child, `http://${hostOf(app)}:${listening}`, deadline)))
    return stop(1);
  process.stdout.write(`${JSON.stringify({ service, pid: child.pid, port: listening })}\n`);
}

/** The port that the process took, or undefined where it ends or takes too long. */
function listeningPort(child) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      process.stderr.write(`process ${child.pid} does not listen\n`);
      resolve(undefined);
    }, READY_TIMEOUT_MS);
    const settle = (port) => {
      clearTimeout(timer);
      resolve(port);
    };
    child.once('exit', () => settle(undefined));
    child.once('message', ({ port }) => settle(port));
  });
}

async function isReady(child, url, deadline) {
  let problems = 'no answer';
  while (Date.now() < deadline && child.exitCode === null && !isStopping) {
    const response = await fetch(`${url}/readyz`).catch(() => undefined);
    if (response?.ok) return true;
    if (response) problems = (await response.json()).problems.join('; ');
    await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
  }
  if (!isStopping) process.stderr.write(`process ${child.pid} is not ready: ${problems}\n`);
  return isStopping;
}

/** The address that a service listens on, as it stands in a URL. */
function hostOf(app) {
  const { GATEPOST_HOST, GATEPOST_CONSOLE_HOST } = process.env;
  const host = app === 'console' ? GATEPOST_CONSOLE_HOST || '127.0.0.1' : GATEPOST_HOST || '0.0.0.0';
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

async function stop(status) {
  if (isStopping) return;
  isStopping = true;
  // Gateways first: what they have in hand still needs the services behind them.
  const gatewayCount = Number(values.gateway);
  await Promise.all(children.slice(0, gatewayCount).map(ended));
  await Promise.all(children.slice(gatewayCount).map(ended));
  process.exit(status);
}

function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return undefined;
  child.kill('SIGTERM');
  return new Promise((resolve) => child.once('exit', resolve));
}

/** Services need one secret together; made once, kept with the data. */
function servicesSecret() {
  const folder = process.env.GATEPOST_DATA_DIR || join(ROOT, 'data');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return storedSecret(join(folder, 'services-secret'));
  } catch (error) {
    return fail(error.message);
  }
}

function migrate() {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(ROOT, 'dist', 'apps', 'cli', 'src', 'main.js'), 'migrate', '--quiet'], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    child.once('exit', (code) => (code === 0 ? resolve() : process.exit(1)));
  });
}

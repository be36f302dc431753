// An import into the standalone server: its time, the memory of each process, and how long logins take meanwhile.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../../tools/prepare.mjs';
import { APP, freePort, newBenchRun, ready } from '../bench-run.mjs';
import { median } from '../load.mjs';
import { residentKb } from '../process-usage.mjs';
import { generateExport, KNOWN_PASSWORD } from './generate-export.mjs';

const COUNTS = { users: 1_000_000, installations: 100_000, roles: 1_000, members: 100_000 };
const RESIDENTS = 50;
const QUIET_LOGINS = 60;
const LOGIN_PAUSE_MS = 200;
const SAMPLE_MS = 500;

/** @param scale 1 is a million users */
export async function measureImport(scale) {
  const run = await newBenchRun();
  try {
    const counts = Object.fromEntries(Object.entries(COUNTS).map(([name, count]) => [name, Math.ceil(count * scale)]));
    const folder = join(run.folder, 'export');
    process.stderr.write(`import: writes an export of ${counts.users} users\n`);
    await generateExport(folder, counts);
    const server = await startServer(run);
    const login = loginOf(server.url);
    for (let index = 0; index < RESIDENTS; index += 1) await signUp(server.url, index);
    const quiet = [];
    for (let index = 0; index < QUIET_LOGINS; index += 1) quiet.push(await login(index));
    process.stderr.write('import: preview\n');
    const preview = await importWith(server, folder, []);
    process.stderr.write('import: apply\n');
    const busy = [];
    const applied = await importWith(server, folder, ['--apply'], async () => {
      busy.push(await login(busy.length));
      await sleep(LOGIN_PAUSE_MS);
    });
    return { counts, preview, applied, loginMs: median(busy), quietLoginMs: median(quiet) };
  } finally {
    await run.stop();
  }
}

async function startServer({ folder, launch }) {
  const port = await freePort();
  const env = { ...APP, GATEPOST_PORT: port, GATEPOST_DATA_DIR: join(folder, 'data') };
  const child = launch('dist/apps/standalone/src/main.js', env);
  await ready(port);
  return { url: `http://127.0.0.1:${port}`, child, env };
}

/** Runs the command; `meanwhile` is repeated until it ends. @returns seconds, classes and the most memory of command and server in MB */
async function importWith({ child, env }, folder, options, meanwhile = () => sleep(SAMPLE_MS)) {
  const args = ['dist/apps/cli/src/main.js', 'import', folder, '--app', APP.GATEPOST_APP_ID, '--json', ...options];
  const command = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, AMQP_URL: '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  command.stdout.setEncoding('utf8').on('data', (text) => (output += text));
  const ended = new Promise((resolve) => command.once('close', resolve));
  const peaks = { command: 0, server: 0 };
  const sampler = setInterval(() => {
    peaks.command = Math.max(peaks.command, residentKb(command));
    peaks.server = Math.max(peaks.server, residentKb(child));
  }, SAMPLE_MS);
  while (command.exitCode === null) await meanwhile();
  await ended;
  clearInterval(sampler);
  const { seconds, classes } = JSON.parse(output);
  return { seconds, classes, commandMb: peaks.command / 1024, serverMb: peaks.server / 1024 };
}

async function signUp(url, index) {
  const response = await post(`${url}/1.1/users`, { username: `resident${index}`, password: KNOWN_PASSWORD });
  if (response.status !== 201) throw new Error(`sign-up answered ${response.status}`);
}

/** @returns the milliseconds of one login */
function loginOf(url) {
  return async (index) => {
    const startedAt = performance.now();
    const body = { username: `resident${index % RESIDENTS}`, password: KNOWN_PASSWORD };
    const response = await post(`${url}/1.1/login`, body);
    if (response.status !== 200) throw new Error(`login answered ${response.status}`);
    return performance.now() - startedAt;
  };
}

async function post(url, body) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-lc-id': APP.GATEPOST_APP_ID, 'x-lc-key': APP.GATEPOST_APP_KEY },
    body: JSON.stringify(body),
  });
  await response.arrayBuffer();
  return response;
}

export function printImportReport({ counts, preview, applied, loginMs, quietLoginMs }) {
  const line = (name, { seconds, commandMb, serverMb }) =>
    `${name.padEnd(10)}${String(seconds).padStart(8)} s   command ${Math.round(commandMb)} MB, server ${Math.round(serverMb)} MB\n`;
  const { users, installations, roles, members } = counts;
  const ratio = (loginMs / quietLoginMs).toFixed(2);
  process.stdout.write(
    [
      `import of ${users} users, ${installations} installations, ${roles} roles with ${members} members (standalone)\n`,
      line('preview', preview),
      line('apply', applied),
      `login of another user: ${Math.round(loginMs)} ms meanwhile, ${Math.round(quietLoginMs)} ms before (${ratio} times)\n`,
    ].join(''),
  );
}

// npm run test:races, test:faults, test:hostile: what the README promises, shown at length.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { fail, readArguments, ROOT } from './prepare.mjs';

const HIGHEST_SEED = 2 ** 31;
const PROOFS = {
  races: {
    help: `Usage: npm run test:races -- [--times=200] [<files>]

Requests that cross, over two processes of every service: each case so many times, checked by the answers and by what is in the
database afterwards.
`,
    scale: { times: () => 200 },
  },
  faults: {
    help: `Usage: npm run test:faults -- [--seconds=120] [--seed=N] [--iphones=20000] [--kills=200] [<files>]

Kills services with SIGKILL and restarts PostgreSQL, Redis and RabbitMQ, private ones from installed programs, each in turn and then at
random for so many seconds, under a mixed load; then accounts for everything that was acknowledged. The seed, which it prints,
says what happens when: give it again to have the same again. Another file has RabbitMQ run short of memory and of disk, and another
sends pushes to so many iPhones through a stand-in of APNs while senders, dispatcher, servers and connections fail. Another kills the console so many times while
operators act.
`,
    scale: { seconds: () => 120, seed: () => randomInt(HIGHEST_SEED), iphones: () => 20_000, kills: () => 200 },
  },
  hostile: {
    help: `Usage: npm run test:hostile -- [--requests=20000] [--seed=N] [<files>]

Requests made at random from the description of the API, and known attacks: none may be answered with a 5xx, hang, show what is
another user's, change read-only data, or make the processes grow. The seed, which it prints, makes the same requests again.
`,
    scale: { requests: () => 20_000, seed: () => randomInt(HIGHEST_SEED) },
  },
};

const [name, ...rest] = process.argv.slice(2);
const proof = PROOFS[name] ?? fail(`There is no proof "${name}". Proofs: ${Object.keys(PROOFS).join(', ')}.`);
const { values, positionals } = readArguments({
  args: rest,
  allowPositionals: true,
  options: {
    help: { type: 'boolean' },
    ...Object.fromEntries(Object.keys(proof.scale).map((option) => [option, { type: 'string' }])),
  },
});
if (values.help) {
  process.stdout.write(proof.help);
  process.exit(0);
}
const scale = Object.entries(proof.scale).map(([option, usual]) => {
  const value = values[option] ?? String(usual());
  if (!/^\d{1,10}$/.test(value)) fail(`--${option} takes a whole number.`);
  if (option !== 'seed' && Number(value) === 0) fail(`--${option}=0 would prove nothing: it takes 1 or more.`);
  return `${option}=${value}`;
});
process.stderr.write(`[npm run test:${name}] ${scale.join(', ')}\n`);

// One file at a time: each has ten processes, which need most of PostgreSQL's 100 connections. A project's own maxWorkers precedes --maxWorkers.
const vitest = ['--project', name, '--no-file-parallelism', ...positionals];
const tests = spawn(process.execPath, [join(ROOT, 'tools', 'test.mjs'), '--all', ...vitest], {
  stdio: 'inherit',
  env: { ...process.env, TEST_SCALE: scale.join(',') },
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => tests.kill(signal));
tests.once('exit', (status) => process.exit(status ?? 1));

// npm run bench:vendors: what pushes through the services of vendors cost.
import { table } from '../../tools/markdown.mjs';
import { ensureStandInsBuilt, fail, readArguments } from '../../tools/prepare.mjs';
import { newBenchRun } from '../bench-run.mjs';
import { writeSection } from '../peers/write-section.mjs';
import { machine, verdict } from '../report.mjs';
import { CASES, DEVICES } from './cases.mjs';
import { startGatepost } from './gatepost.mjs';

const ALL_CASES = Object.keys(CASES);
const HELP = `Usage: npm run bench:vendors -- [--cases=${ALL_CASES.join(',')}] [--devices=N] [--profile=<folder>] [--write]

Measures one process each of gateway, accounts, dispatcher and sender. The stand-ins of the vendors are in a process of their own on the
same machine. Rates per core are of the processor time of the sender; the time ends when each device has its outcome in the record of
the push. --devices: devices of each case, instead of ${Object.values(DEVICES).join(', ')}. --profile writes a
processor profile of the sender. --write puts the figures into docs/benchmarks.md.
Needs PostgreSQL (DATABASE_URL), Redis (REDIS_URL), RabbitMQ (AMQP_URL) and Linux; works in a database and under keys of its own and removes them.
`;
const DELAY_TARGET_MS = 150;

const atMost = (limit) => [`≤ ${limit.toLocaleString('en')}`, (value) => value <= limit];
const atLeast = (limit) => [`≥ ${limit.toLocaleString('en')}`, (value) => value >= limit];
const LISTS = { huawei: 'Huawei', honor: 'Honor', xiaomi: 'Xiaomi', oppo: 'OPPO', vivo: 'vivo', meizu: 'Meizu' };

/** Cases that send one push to all devices of a vendor: by case, the names of their figures, titles and targets. */
const RATES = {
  apns: [['apns', 'APNs', 6_000]],
  apnsDelay: [['apnsDelay', 'APNs with answers after 50 ms', 6_000]],
  fcm: [['fcm', 'FCM', 5_000]],
  webPush: [['webPush', 'Web Push', 2_500]],
  lists: Object.entries(LISTS).map(([name, title]) => [name, title, 50_000]),
};
const RATES_HEAD = [
  'vendor',
  'devices per second of one core',
  'per second of elapsed time',
  'requests above one for each device',
];
/** By case, its other rows. */
const ROWS = {
  apnsDelay: [
    [
      'apnsDelayP99',
      'APNs with answers after 50 ms: p99 of a request (upper bound of its bucket), ms',
      0,
      atMost(DELAY_TARGET_MS),
    ],
  ],
  latency: [
    ['latencyP50', 'accepted push to the request at APNs, p50, ms', 1, atMost(60)],
    ['latencyP99', 'the same, p99, ms', 1, atMost(250)],
    ['besideP50', 'the same while a push to all devices runs, p50, ms', 1],
    ['besideP99', 'the same, p99, ms', 1, atMost(1_000)],
  ],
  mixed: [
    ['mixedSenderMb', 'devices of nine vendors at once: most memory of the sender, MB', 0, atMost(250)],
    ['mixedDispatcherMb', 'most memory of the dispatcher, MB', 0],
    ['mixedDispatcherGrowth', 'the same, above its memory before the push, %', 0],
    ['mixedDispatcherMore', 'the same, above that of a push to as many devices without a vendor, %', 0, atMost(10)],
    ['mixedPerSecond', 'devices per second of elapsed time', 0],
  ],
  silent: [
    ['silentShare', 'APNs while FCM answers no request: throughput, % of that alone', 0, atLeast(95)],
    ['silentConnections', 'new connections to FCM per second of its silence', 2, atMost(1)],
    ['silentGrowthMb', 'memory of the sender in 60 s of silence, above the begin, MB', 0, atMost(10)],
    ['silentReturn', 'end of the silence to the first message at FCM, s', 1, atMost(35)],
  ],
};

const { values } = readArguments({
  options: {
    help: { type: 'boolean' },
    write: { type: 'boolean' },
    cases: { type: 'string', default: ALL_CASES.join(',') },
    devices: { type: 'string' },
    profile: { type: 'string' },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const names = values.cases.split(',');
for (const name of names)
  if (!ALL_CASES.includes(name)) fail(`There is no case "${name}". Cases: ${ALL_CASES.join(', ')}.`);
if (!/^[1-9]\d{0,7}$/.test(values.devices ?? '1')) fail('--devices takes a number of devices.');

ensureStandInsBuilt();
const run = await newBenchRun();
try {
  await measure();
} finally {
  await run.stop();
}

async function measure() {
  const gatepost = await startGatepost(run, values.profile);
  try {
    for (const name of names) {
      const devices = Number(values.devices ?? DEVICES[name]);
      process.stderr.write(`${name}, ${devices} devices\n`);
      const report = reportOf(name, devices, await CASES[name](gatepost, devices));
      process.stdout.write(`\n${report}\n`);
      if (values.write) writeSection(`vendors-${name}`, report);
    }
  } finally {
    await gatepost.stop();
  }
}

function reportOf(name, devices, figures) {
  const rates = (RATES[name] ?? []).map(([row, title, target]) => [
    title,
    `${shown(figures[`${row}PerCore`])} (${judged(atLeast(target), figures[`${row}PerCore`])})`,
    shown(figures[`${row}PerSecond`]),
    `${shown(figures[`${row}Repeats`])} (${judged(atMost(0), figures[`${row}Repeats`])})`,
  ]);
  const others = (ROWS[name] ?? []).map(([row, title, digits, target]) => [
    title,
    shown(figures[row], digits),
    target === undefined ? '' : judged(target, figures[row]),
  ]);
  const command = `--cases=${name} --devices=${devices}`;
  return [
    `\`${command}\`, ${machine()}`,
    ...(rates.length === 0 ? [] : [table(RATES_HEAD, rates)]),
    ...(others.length === 0 ? [] : [table(['measure', 'Gatepost', 'target'], others)]),
  ].join('\n\n');
}

function shown(figure, digits = 0) {
  return figure.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function judged([text, isMet], figure) {
  return `${text} ${verdict(isMet(figure))}`;
}

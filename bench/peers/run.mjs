// npm run bench:peers: Gatepost in both shapes beside Parse Server and beside a bare server, in one run.
import { parseArgs } from 'node:util';
import { fail } from '../../tools/prepare.mjs';
import { CASES } from '../cases.mjs';
import { restart, startContestants } from '../contestants.mjs';
import { measure, warmUp } from '../load.mjs';
import { memoryMb, processorSeconds } from '../process-usage.mjs';
import { hashRate } from '../report.mjs';
import { installParseServer, parseServer } from './parse-server.mjs';
import { accountsReport } from './report.mjs';
import { TARGETS } from './targets.mjs';
import { writeSection } from './write-section.mjs';

const ALL_CASES = Object.keys(TARGETS.services);
const HELP = `Usage: npm run bench:peers -- [--seconds=3] [--rounds=3] [--connections=1,32,128] [--write]
                             [--cases=${ALL_CASES.join(',')}]

Measures the services (one process each), the standalone server, a bare Fastify + node-postgres server that does the same
statements, and Parse Server on PostgreSQL with the indexes it lacks: every case at every number of requests in flight, round by
round in turn, each over 100,000 users. --write puts the result into docs/benchmarks.md.
Parse Server is installed into bench/peers/installed at the first run; nothing of Gatepost depends on it.
Needs PostgreSQL (DATABASE_URL), Redis (REDIS_URL) and RabbitMQ (AMQP_URL), on this machine so that their processor time counts, and
Linux; works in databases of its own and drops them. Pushes beside Mosquitto: npm run bench:push.
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean' },
    write: { type: 'boolean' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '1,32,128' },
    cases: { type: 'string', default: ALL_CASES.join(',') },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const names = values.cases.split(',');
for (const name of names)
  if (!ALL_CASES.includes(name)) fail(`There is no case "${name}". Cases: ${ALL_CASES.join(', ')}.`);
const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)];
const connections = values.connections.split(',').map(Number);

installParseServer();
const contestants = await startContestants([parseServer]);
try {
  const starts = await measureStarts(contestants.list);
  const results = [];
  for (const name of names) results.push(...(await measureCase(name)));
  const memory = contestants.list.map(({ kind, idleMb, processes }) => ({
    kind,
    idleMb,
    loadedMb: processes.reduce((sum, child) => sum + memoryMb(child), 0),
  }));
  const report = accountsReport({ names, connections, results, starts, memory, hashRate: await hashRate() });
  process.stdout.write(`${report}\n`);
  if (values.write) await writeSection('accounts', report);
} finally {
  await contestants.stop();
}

/** Milliseconds from the start of its processes until a contestant serves, on data that are there. */
async function measureStarts(list) {
  const starts = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const contestant of list) {
      process.stderr.write(`cold start: ${contestant.kind}, round ${round} of ${rounds}\n`);
      starts.push({ kind: contestant.kind, milliseconds: await restart(contestant) });
    }
  }
  return starts;
}

/** Everyone in turn, at every number of requests in flight, round by round. */
async function measureCase(name) {
  const results = [];
  for (const entrant of contestants.list) await warmUp(CASES[name], entrant);
  for (let round = 1; round <= rounds; round += 1) {
    for (const inFlight of connections) {
      for (const entrant of contestants.list) {
        process.stderr.write(`${name}, ${inFlight} in flight: ${entrant.kind}, round ${round} of ${rounds}\n`);
        results.push({ name, inFlight, kind: entrant.kind, ...(await measureOnce(name, inFlight, entrant)) });
      }
    }
  }
  return results;
}

async function measureOnce(name, inFlight, entrant) {
  const used = () => [...entrant.processes, ...entrant.servers].map(processorSeconds);
  const before = used();
  const result = await measure({ ...CASES[name], connections: inFlight }, entrant, seconds);
  const spent = used().map((now, index) => now - before[index]);
  return { ...result, processorMs: (sum(spent) * 1000) / result.answers };
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

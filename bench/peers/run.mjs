// npm run bench:peers: Gatepost beside Parse Server, bare servers and MQTT servers, in one run.
import { fail, readArguments } from '../../tools/prepare.mjs';
import { measurePushes } from '../push/measure-push.mjs';
import { pushReport } from '../push/report.mjs';
import { hashRate, machine } from '../report.mjs';
import { measureAccounts } from './measure-accounts.mjs';
import { installParseServer } from './parse-server.mjs';
import { accountsReport } from './report.mjs';
import { TARGETS } from './targets.mjs';
import { writeSection } from './write-section.mjs';

const PUSH = 'push';
/** Those of npm run bench:push that the other servers can take part in. */
const PUSH_CASES = ['memory', 'sends', 'fanOut', 'latency', 'storm'];
const ALL_CASES = [...Object.keys(TARGETS.services), PUSH];
const HELP = `Usage: npm run bench:peers -- [--seconds=3] [--rounds=3] [--connections=1,32,128] [--write]
                             [--cases=${ALL_CASES.join(',')}]

Measures the services (one process each), the standalone server, a bare Fastify + node-postgres server that does the same
statements, and Parse Server on PostgreSQL with the indexes it lacks: every case at every number of requests in flight, round by
round in turn, each over 100,000 users. "push" is pushes, beside a bare ws server, Mosquitto and RabbitMQ where they are installed
(npm run bench:push -- --help). --write puts what was measured into its sections of docs/benchmarks.md.
Parse Server is installed into bench/peers/installed at the first run; nothing of Gatepost depends on it.
Needs PostgreSQL (DATABASE_URL), Redis (REDIS_URL) and RabbitMQ (AMQP_URL), on this machine so that their processor time counts, and
Linux; works in databases of its own and drops them.
`;

const { values } = readArguments({
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
const chosen = values.cases.split(',');
for (const name of chosen)
  if (!ALL_CASES.includes(name)) fail(`There is no case "${name}". Cases: ${ALL_CASES.join(', ')}.`);
const rounds = Number(values.rounds);
const names = chosen.filter((name) => name !== PUSH);

const reports = new Map();
if (names.length > 0) {
  installParseServer();
  const connections = values.connections.split(',').map(Number);
  const measured = await measureAccounts({ names, connections, rounds, seconds: Number(values.seconds) });
  const report = accountsReport({ names, connections, ...measured, hashRate: await hashRate() });
  for (const [section, text] of report) reports.set(section, text);
}
if (chosen.includes(PUSH)) reports.set('pushes', pushReport(await measurePushes({ names: PUSH_CASES, rounds })));

const options = process.argv.slice(2).filter((option) => option !== '--write');
const how = [...(options.length === 0 ? [] : [`\`${options.join(' ')}\``]), machine()].join(', ');
for (const [section, report] of reports) {
  process.stdout.write(`\n### ${section}\n\n${report}\n`);
  if (values.write) writeSection(section, `${how}\n\n${report}`);
}

// npm run bench:push: what pushes cost, beside Mosquitto.
import { parseArgs } from 'node:util';
import { fail } from '../../tools/prepare.mjs';
import { CASES } from './cases.mjs';
import { measurePushes } from './measure-push.mjs';
import { machine } from '../report.mjs';
import { pushReport } from './report.mjs';

const ALL_CASES = Object.keys(CASES);
const USUAL_CASES = ALL_CASES.filter((name) => name !== 'scale');
const SCALE_DEVICES = 1_000_000;
const HELP = `Usage: npm run bench:push -- [--rounds=1] [--cases=${USUAL_CASES.join(',')}]

Measures one process each of gateway, accounts, dispatcher and connector, and Mosquitto where it is installed, with the same devices: they are in a
process of their own, and do as little as can be. Rates per core are of the processor time that the connector, Mosquitto or Redis has used.
Mosquitto keeps its sessions and messages in memory only (QoS 1); Gatepost has them in Redis and PostgreSQL.
Needs PostgreSQL (DATABASE_URL), Redis (REDIS_URL) and RabbitMQ (AMQP_URL), and Linux; works in a database and under keys of its own and removes them.
The case "million" writes a million rows first, which takes a minute or two.
The case "scale" runs only when it is named, with --devices=${SCALE_DEVICES}: all of them are away and get ten pushes, then 50,000 return at once. It takes
about 10 minutes, 3 GB of Redis' memory and 1 GB of PostgreSQL's disk. Where the limit of open files is low, it starts more than two connectors.
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean' },
    rounds: { type: 'string', default: '1' },
    cases: { type: 'string', default: USUAL_CASES.join(',') },
    devices: { type: 'string', default: String(SCALE_DEVICES) },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const names = values.cases.split(',');
for (const name of names)
  if (!ALL_CASES.includes(name)) fail(`There is no case "${name}". Cases: ${ALL_CASES.join(', ')}.`);

const report = pushReport(
  await measurePushes({ names, rounds: Number(values.rounds), devices: Number(values.devices) }),
);
process.stdout.write(`\n${machine()}\n\n${report}\n`);

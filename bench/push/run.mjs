// npm run bench:push: what pushes cost, beside other servers.
import { fail, readArguments } from '../../tools/prepare.mjs';
import { machine } from '../report.mjs';
import { CASES } from './cases.mjs';
import { measurePushes, PEERS } from './measure-push.mjs';
import { pushReport } from './report.mjs';

const ALL_CASES = Object.keys(CASES);
const USUAL_CASES = ALL_CASES.filter((name) => name !== 'scale');
const SCALE_DEVICES = 1_000_000;
const HELP = `Usage: npm run bench:push -- [--rounds=1] [--cases=${USUAL_CASES.join(',')}] [--profile=<folder>]
                             [--peers=${Object.keys(PEERS).join(',')}]

Measures one process each of gateway, accounts, dispatcher and connector, and other servers where they are installed, with the same devices: they are
in a process of their own, and do as little as can be. Rates per core are of the processor time that the connector, the other server or Redis has used.
Gatepost has sessions and messages in Redis and PostgreSQL. The others (QoS 1): "mosquitto" has them in memory, "mosquitto-disk" writes them to its disk
every second, "rabbitmq" writes each message into durable queues, "bare" is a server of the package ws that stores nothing.
Needs PostgreSQL (DATABASE_URL), Redis (REDIS_URL) and RabbitMQ (AMQP_URL), and Linux; works in a database and under keys of its own and removes them.
--profile writes a processor profile of the connector into the folder, for Chrome's developer tools.
The case "million" writes a million rows first, which takes a minute or two.
The case "scale" runs only when it is named, with --devices=${SCALE_DEVICES}: all of them are away and get ten pushes, then 50,000 return at once. It takes
about 10 minutes, 3 GB of Redis' memory and 1 GB of PostgreSQL's disk. Where the limit of open files is low, it starts more than two connectors.
`;

const { values } = readArguments({
  options: {
    help: { type: 'boolean' },
    rounds: { type: 'string', default: '1' },
    cases: { type: 'string', default: USUAL_CASES.join(',') },
    devices: { type: 'string', default: String(SCALE_DEVICES) },
    profile: { type: 'string' },
    peers: { type: 'string', default: Object.keys(PEERS).join(',') },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const names = values.cases.split(',');
for (const name of names)
  if (!ALL_CASES.includes(name)) fail(`There is no case "${name}". Cases: ${ALL_CASES.join(', ')}.`);

const peers = values.peers.split(',').filter((name) => name !== '');
for (const name of peers) if (!(name in PEERS)) fail(`There is no server "${name}". Servers: ${Object.keys(PEERS)}.`);

const { profile } = values;
const numbers = { rounds: Number(values.rounds), devices: Number(values.devices) };
const report = pushReport(await measurePushes({ names, ...numbers, profile, peers }));
process.stdout.write(`\n${machine()}\n\n${report}\n`);

// npm run bench:push: what pushes cost, beside Mosquitto.
import { parseArgs } from 'node:util';
import { fail } from '../../tools/prepare.mjs';
import { newBenchRun } from '../bench-run.mjs';
import { CASES } from './cases.mjs';
import { startGatepost } from './gatepost.mjs';
import { startDevices } from './load-process.mjs';
import { isMosquittoInstalled, startMosquitto } from './mosquitto.mjs';
import { printPushReport } from './report.mjs';

const ALL_CASES = Object.keys(CASES);
const HELP = `Usage: npm run bench:push -- [--rounds=1] [--cases=${ALL_CASES.join(',')}]

Measures one process each of gateway, accounts, dispatcher and connector, and Mosquitto where it is installed, with the same devices: they are in a
process of their own, and do as little as can be. Rates per core are of the processor time that the connector, Mosquitto or Redis has used.
Mosquitto keeps its sessions and messages in memory only (QoS 1); Gatepost has them in Redis and PostgreSQL.
Needs PostgreSQL (DATABASE_URL), Redis (REDIS_URL) and RabbitMQ (AMQP_URL), and Linux; works in a database and under keys of its own and removes them.
The case "million" writes a million rows first, which takes a minute or two.
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean' },
    rounds: { type: 'string', default: '1' },
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

const run = await newBenchRun();
const servers = [];
const results = {};
try {
  servers.push(await startGatepost(run));
  if (isMosquittoInstalled()) servers.push(await startMosquitto(run.folder));
  else process.stderr.write('Mosquitto is not installed: Gatepost is measured alone.\n');
  for (let round = 1; round <= Number(values.rounds); round += 1) await measureRound(round);
} finally {
  for (const server of servers) await server.stop();
  await run.stop();
}
printPushReport(results);

/** Every case with every server in turn, each time with devices that have done nothing before. */
async function measureRound(round) {
  for (const name of names) {
    for (const server of servers) {
      process.stderr.write(`${name}: ${server.title}, round ${round} of ${values.rounds}\n`);
      const devices = await startDevices(run.launch);
      try {
        (results[server.kind] ??= []).push(await CASES[name](server, devices));
      } finally {
        await devices.end();
      }
    }
  }
}

// Measures Gatepost, and Mosquitto where it is installed, with the same devices.
import { newBenchRun } from '../bench-run.mjs';
import { CASES } from './cases.mjs';
import { startGatepost } from './gatepost.mjs';
import { startDevices } from './load-process.mjs';
import { isMosquittoInstalled, startMosquitto } from './mosquitto.mjs';

/** By server, what each round has measured. */
export async function measurePushes({ names, rounds, devices: deviceCount }) {
  const run = await newBenchRun();
  const servers = [];
  try {
    servers.push(await startGatepost(run));
    if (isMosquittoInstalled()) servers.push(await startMosquitto(run.folder));
    else process.stderr.write('Mosquitto is not installed: Gatepost is measured alone.\n');
    const results = {};
    for (let round = 1; round <= rounds; round += 1)
      for (const name of names)
        await measureCase(name, { run, servers, results, deviceCount, round: `round ${round} of ${rounds}` });
    return results;
  } finally {
    for (const server of servers) await server.stop();
    await run.stop();
  }
}

/** With every server in turn, each time with devices that have done nothing before. */
async function measureCase(name, { run, servers, results, deviceCount, round }) {
  for (const server of servers) {
    process.stderr.write(`${name}: ${server.title}, ${round}\n`);
    const devices = await startDevices(run.launch);
    try {
      (results[server.kind] ??= []).push(await CASES[name](server, devices, deviceCount));
    } finally {
      await devices.end();
    }
  }
}

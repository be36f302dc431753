// Measures Gatepost and the servers that it is compared with, where they are installed, with the same devices.
import { once } from 'node:events';
import { newBenchRun } from '../bench-run.mjs';
import { CASES } from './cases.mjs';
import { ALERT, startGatepost } from './gatepost.mjs';
import { startDevices } from './load-process.mjs';
import { isMosquittoInstalled, isRabbitInstalled, startMosquitto, startRabbit } from './mqtt-servers.mjs';

/** Opening thousands of durable sessions takes minutes: these servers take part in the cases that compare what is kept. */
const DURABLE_CASES = ['sends', 'latency', 'storm'];

/** The title of each server in the report, whether it can take part and in which cases (default: all), and how it starts. */
export const PEERS = {
  bare: { title: 'bare ws', isInstalled: () => true, start: startBare },
  mosquitto: {
    title: 'Mosquitto',
    isInstalled: isMosquittoInstalled,
    start: (run) => startMosquitto(run, { isDurable: false }),
  },
  'mosquitto-disk': {
    title: 'Mosquitto, on disk',
    cases: DURABLE_CASES,
    isInstalled: isMosquittoInstalled,
    start: (run) => startMosquitto(run, { isDurable: true }),
  },
  rabbitmq: { title: 'RabbitMQ MQTT', cases: DURABLE_CASES, isInstalled: isRabbitInstalled, start: startRabbit },
};

/** @returns by server, what each round has measured */
export async function measurePushes({ names, rounds, devices: deviceCount, profile, peers = Object.keys(PEERS) }) {
  const run = await newBenchRun();
  let gatepost;
  try {
    gatepost = await startGatepost(run, profile);
    const installed = peers.filter((name) => PEERS[name].isInstalled());
    for (const name of peers.filter((one) => !installed.includes(one)))
      process.stderr.write(`${PEERS[name].title} is not installed and does not take part.\n`);
    const results = {};
    const all = Array.from({ length: rounds }, (_, index) => names.map((name) => ({ name, index }))).flat();
    for (const { name, index } of all) {
      const one = { name, run, results, deviceCount, round: `round ${index + 1} of ${rounds}` };
      await measureCase({ ...one, kind: 'gatepost', server: gatepost });
      for (const kind of installed.filter((one) => PEERS[one].cases?.includes(name) ?? true))
        await measurePeer({ ...one, kind });
    }
    return results;
  } finally {
    await gatepost?.stop();
    await run.stop();
  }
}

/** Started anew for each case, because its sessions outlive the devices of a case. */
async function measurePeer({ kind, run, ...one }) {
  const server = await PEERS[kind].start(run);
  try {
    await measureCase({ ...one, kind, run, server: { ...server, title: PEERS[kind].title } });
  } finally {
    await server.stop();
  }
}

/** Each time with devices that have done nothing before. */
async function measureCase({ name, kind, server, run, results, deviceCount, round }) {
  process.stderr.write(`${name}: ${server.title}, ${round}\n`);
  const devices = await startDevices(run.launch);
  try {
    (results[kind] ??= []).push(await CASES[name](server, devices, deviceCount));
  } finally {
    await devices.end();
  }
}

/** The frames of Gatepost's connector, sent by the package ws: neither queues nor a database. */
async function startBare({ launch }) {
  const child = launch('bench/push/bare-websocket.mjs', {}, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [{ port }] = await once(child, 'message');
  const calls = new Map();
  child.on('message', ({ call, id }) => {
    calls.get(call)(id);
    calls.delete(call);
  });
  const body = JSON.stringify({ alert: ALERT, _expiration_time: new Date().toISOString() });
  let lastCall = 0;
  const push = (name) =>
    new Promise((resolve) => {
      lastCall += 1;
      calls.set(lastCall, resolve);
      child.send({ call: lastCall, name, body });
    });
  return {
    server: child,
    device: { kind: 'websocket', port, appId: 'bare' },
    pushToAll: () => push(),
    pushToOne: push,
    stop: () => {
      child.disconnect();
      return once(child, 'exit');
    },
  };
}

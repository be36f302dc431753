// A million devices that are away: pushes to all of them, a push to one device meanwhile, and the return of many at once.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { peakKbDuring, residentKb } from '../process-usage.mjs';
import { now, shares } from './figures.mjs';
import { namesOf, startDevices } from './load-process.mjs';

const PUSHES = 10;
const RETURNING = 50_000;
const FEWEST_CONNECTORS = 2;
/** Open files of a process besides its devices. */
const OTHER_FILES = 1_000;
const PROBE = 'probe';
const PROBE_PAUSE_MS = 100;
const SETTLE_MS = 5_000;
const RETURN_TIMEOUT_MS = 180_000;

/** @param count the number of devices */
export async function scale(server, devices, count) {
  if (server.dispatcher === undefined) return {};
  const names = namesOf('away', count);
  await server.register([...names, PROBE]);
  await devices.open({ ...server.device, names: [PROBE], sendsAcks: true, reports: true, atOnce: 1 });
  const alone = await singlePushes(server, devices, () => sleep(SETTLE_MS));
  const first = await pushes(server, devices, { count: 1, perPush: count });
  const others = await pushes(server, devices, { count: PUSHES - 1, perPush: count });
  // The return can fail, for example where the limit of open files is low.
  for (const { latencies, ...figures } of [first, others])
    process.stderr.write(`${JSON.stringify({ ...figures, latencies: shares(latencies, 0.5, 0.99) })}\n`);
  await devices.close();
  const returned = await returnOf(server, names.slice(0, Math.min(RETURNING, count)));
  return {
    scaleDevices: count,
    scaleAloneP99: shares(alone, 0.99)[0],
    scalePerSecond: first.perSecond,
    scalePerCore: first.perCore,
    scaleBytesFirst: first.bytes,
    scaleGrowthMb: first.growthMb,
    scaleBesideP50: shares(first.latencies, 0.5)[0],
    scaleBesideP99: shares(first.latencies, 0.99)[0],
    scaleAllPerSecond: others.perSecond,
    scaleBytesNext: others.bytes,
    scaleAllGrowthMb: others.growthMb,
    scaleAllBesideP50: shares(others.latencies, 0.5)[0],
    scaleAllBesideP99: shares(others.latencies, 0.99)[0],
    ...returned,
  };
}

/** Pushes to all devices, accepted together, until the last one is in every queue. */
async function pushes(server, devices, { count, perPush }) {
  const before = { memory: await server.redisBytes(), seconds: await server.redisSeconds() };
  const beforeKb = residentKb(server.dispatcher);
  const startedAt = now();
  let [latencies, took] = [[], 0];
  const peakKb = await peakKbDuring(server.dispatcher, async () => {
    const accepted = await Promise.all(Array.from({ length: count }, () => server.pushToAll()));
    latencies = await singlePushes(server, devices, async () => {
      for (const push of accepted) await server.untilDone(push);
      took = now() - startedAt;
    });
  });
  const used = (await server.redisSeconds()) - before.seconds;
  return {
    latencies,
    perSecond: (count * perPush * 1_000) / took,
    perCore: (count * perPush) / used,
    bytes: ((await server.redisBytes()) - before.memory) / (count * perPush),
    growthMb: (peakKb - beforeKb) / 1_024,
  };
}

/** Milliseconds from the request of each push to one connected device until its frame, one after the other while `work` is done. */
async function singlePushes(server, devices, work) {
  let isOver = false;
  const latencies = [];
  const sending = (async () => {
    while (!isOver) {
      const startedAt = now();
      latencies.push((await devices.gets(await server.pushToOne(PROBE))) - startedAt);
      await sleep(PROBE_PAUSE_MS);
    }
  })();
  await Promise.race([work(), sending]);
  isOver = true;
  await sending;
  return latencies;
}

/** Devices connect to several connectors at once, from several addresses, and have all pushes waiting. */
async function returnOf(server, names) {
  const most = openFilesLimit() - OTHER_FILES;
  const connectors = await server.startConnectors(Math.max(FEWEST_CONNECTORS, Math.ceil(names.length / most)));
  const share = Math.ceil(names.length / connectors.length);
  const groups = await Promise.all(
    connectors.map(async (connector, place) => ({
      connector,
      clients: await startDevices(server.launch),
      names: names.slice(place * share, (place + 1) * share),
      localAddress: `127.0.0.${place + 2}`,
    })),
  );
  const startedAt = now();
  const opened = Promise.all(
    groups.map(({ connector, clients, ...own }) =>
      clients.open({ ...server.device, ...own, port: connector.port, sendsAcks: true, atOnce: own.names.length }),
    ),
  );
  const connected = opened.then(() => now() - startedAt);
  const counts = await Promise.all(
    groups.map(({ clients, names: own }) => clients.untilMessages(own.length * PUSHES, RETURN_TIMEOUT_MS)),
  );
  const connectedAfter = await Promise.race([connected, sleep(SETTLE_MS)]);
  const memory = groups.map(({ connector }) => residentKb(connector.child) / 1_024);
  for (const { clients } of groups) await clients.end();
  const total = (kind) => counts.reduce((sum, own) => sum + own[kind], 0);
  return {
    returnConnectors: connectors.length,
    returnConnectedSeconds: (connectedAfter ?? NaN) / 1_000,
    returnSeconds: (Math.max(...counts.map(({ lastAt }) => lastAt)) - startedAt) / 1_000,
    returnLost: names.length * PUSHES - total('messages'),
    returnTwice: total('duplicates'),
    returnConnectorMb: Math.max(...memory),
  };
}

function openFilesLimit() {
  return Number(/^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? 1_024);
}

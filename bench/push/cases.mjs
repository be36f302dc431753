// The cases measured for each server. A case returns numbers by the names of its rows in the report.
import { setTimeout as sleep } from 'node:timers/promises';
import { peakKbDuring, processorSeconds, residentKb } from '../process-usage.mjs';
import { now, shares } from './figures.mjs';
import { namesOf } from './load-process.mjs';
import { scale } from './scale.mjs';

const IDLE_DEVICES = 10_000;
const FAN_OUT_DEVICES = 5_000;
const WARM_UP_DEVICES = 1_000;
/** No more than half of what a connector sends without an acknowledgement: then it would wait for one. */
const FAN_OUT_PUSHES = 16;
const LATENCY_PUSHES = 300;
const EVERYBODY = 10_000;
const EVERYBODY_PUSHES = 100;
const OFFLINE_DEVICES = 100_000;
const STORM_DEVICES = 10_000;
const STORM_PUSHES = 10;
const RECORDS = 1_000;
const RECORD_DEVICES = 200;
const LISTS = 50;
const LISTS_AT_ONCE = 8;
const PUSHES = 200;
const MILLION = 1_000_000;
const WATCHED_DEVICES = 1_000;
const SETTLE_MS = 3_000;
const PAUSE_MS = 20;
/** Until the acknowledgements of a push to everybody are dealt with. */
const FAN_OUT_PAUSE_MS = 500;
const TIMEOUT_MS = 120_000;
const GENTLY = 200;

export const CASES = { memory, sends, fanOut, latency, offline, storm, records, million, scale };

/** Resident memory of the server for each device that is connected and gets nothing. */
async function memory(server, devices) {
  const names = namesOf('idle', IDLE_DEVICES);
  await server.register?.(names);
  const options = { ...server.device, sendsAcks: true, atOnce: GENTLY };
  // The memory that the server needs once is allocated afterwards.
  await devices.open({ ...options, names: names.slice(0, 1_000) });
  await devices.close();
  await sleep(SETTLE_MS);
  const before = residentKb(server.server);
  await devices.open({ ...options, names });
  await sleep(SETTLE_MS);
  const perDevice = (residentKb(server.server) - before) / IDLE_DEVICES;
  await devices.close();
  return { memoryKb: perDevice };
}

let muteGroups = 0;

/** Frames that one core sends, of messages that go to everybody. */
async function sends(server, devices) {
  // Mute devices acknowledge nothing: the messages of an earlier round would be sent again, and fill the window of the connection.
  muteGroups += 1;
  await sendsPerCore(server, devices, { names: namesOf('warm', WARM_UP_DEVICES), sendsAcks: true });
  const mute = await sendsPerCore(server, devices, {
    names: namesOf(`mute${muteGroups}-`, FAN_OUT_DEVICES),
    sendsAcks: false,
  });
  const acking = await sendsPerCore(server, devices, { names: namesOf('acking', FAN_OUT_DEVICES), sendsAcks: true });
  return { sendsPerCore: mute.perCore, ackedSendsPerCore: acking.perCore, ackedPerSecond: acking.perSecond };
}

async function sendsPerCore(server, devices, { names, sendsAcks }) {
  await server.register?.(names);
  await devices.open({ ...server.device, names, sendsAcks, atOnce: GENTLY });
  await sleep(SETTLE_MS);
  await devices.forget();
  const before = processorSeconds(server.server);
  const startedAt = now();
  for (let push = 0; push < FAN_OUT_PUSHES; push += 1) await server.pushToAll(sendsAcks ? 1 : 0);
  const wanted = names.length * FAN_OUT_PUSHES;
  const { messages, lastAt } = await devices.untilMessages(wanted, TIMEOUT_MS);
  if (sendsAcks) await sleep(SETTLE_MS);
  const seconds = processorSeconds(server.server) - before;
  await devices.close();
  if (messages < wanted) throw new Error(`${server.title}: ${messages} of ${wanted} messages came`);
  return { perCore: messages / seconds, perSecond: (messages * 1_000) / (lastAt - startedAt) };
}

/** From the answer to the application until the last device has the frame, one push at a time. */
async function fanOut(server, devices) {
  const names = namesOf('everybody', EVERYBODY);
  await server.register?.(names);
  await devices.open({ ...server.device, names, sendsAcks: true, atOnce: GENTLY });
  await sleep(SETTLE_MS);
  const all = [];
  for (let push = 0; push < EVERYBODY_PUSHES; push += 1) {
    await devices.forget();
    await server.pushToAll();
    const acceptedAt = now();
    const { messages, lastAt } = await devices.untilMessages(EVERYBODY, TIMEOUT_MS);
    if (messages < EVERYBODY) throw new Error(`${server.title}: ${messages} of ${EVERYBODY} messages came`);
    all.push(lastAt - acceptedAt);
    await sleep(FAN_OUT_PAUSE_MS);
  }
  await devices.close();
  const [fanOutP50, fanOutP99] = shares(all, 0.5, 0.99);
  return { fanOutP50, fanOutP99 };
}

/** From the answer to the application until the device has the frame, one push at a time. */
async function latency(server, devices) {
  const [name] = namesOf('one', 1);
  await server.register?.([name]);
  await devices.open({ ...server.device, names: [name], sendsAcks: true, reports: true, atOnce: 1 });
  const all = [];
  for (let push = 0; push < LATENCY_PUSHES; push += 1) all.push(await latencyOfOne(server, devices, name));
  await devices.close();
  const [latencyP50, latencyP99] = shares(all, 0.5, 0.99);
  return { latencyP50, latencyP99 };
}

async function latencyOfOne(server, devices, name) {
  const id = await server.pushToOne(name);
  const acceptedAt = now();
  const at = await devices.gets(id);
  await sleep(PAUSE_MS);
  // A frame may be there before the answer has come back.
  return Math.max(0, at - acceptedAt);
}

/** Devices a second that get a message into their queues, for each second of Redis' one core. */
async function offline(server) {
  if (server.redisSeconds === undefined) return {};
  await server.register(namesOf('away', OFFLINE_DEVICES));
  await server.untilDone(await server.pushToAll());
  const [seconds, startedAt] = [await server.redisSeconds(), performance.now()];
  await server.untilDone(await server.pushToAll());
  const took = (performance.now() - startedAt) / 1_000;
  const used = (await server.redisSeconds()) - seconds;
  return { enqueuedPerCore: OFFLINE_DEVICES / used, enqueuedPerSecond: OFFLINE_DEVICES / took };
}

/** Everybody comes back at once, and has messages waiting. */
async function storm(server, devices) {
  if (server.keepsMessages !== true) return {};
  const names = namesOf('storm', STORM_DEVICES);
  const options = { ...server.device, names, sendsAcks: true, keepsSession: true };
  await server.register?.(names);
  await devices.open({ ...options, atOnce: GENTLY });
  await devices.close();
  await sleep(SETTLE_MS);
  for (let push = 0; push < STORM_PUSHES; push += 1) {
    const accepted = await server.pushToAll();
    await server.untilDone?.(accepted);
  }
  await devices.forget();
  const startedAt = now();
  const opened = devices.open({ ...options, atOnce: STORM_DEVICES });
  const wanted = STORM_DEVICES * STORM_PUSHES;
  const { messages, duplicates, lastAt } = await devices.untilMessages(wanted, TIMEOUT_MS);
  await opened;
  await devices.close();
  return { stormSeconds: (lastAt - startedAt) / 1_000, stormLost: wanted - messages, stormTwice: duplicates };
}

/** Lists of the records of pushes whose counts may still grow, and pushes that are sent meanwhile. */
async function records(server) {
  if (server.list === undefined) return {};
  await server.register(namesOf('listed', RECORD_DEVICES));
  let last;
  for (let push = 0; push < RECORDS; push += 1) last = await server.pushToAll();
  await server.untilDone(last);
  const listing = () => timeOf(() => server.list(RECORDS));
  const pushing = () => timeOf(() => server.pushToOne('listed-0'));
  const [, listP99] = shares(await inTurn(LISTS, listing), 0.5, 0.99);
  const [pushP50, pushP99] = shares(await inTurn(PUSHES, pushing), 0.5, 0.99);
  const beside = async (clients) => {
    const listers = await server.startListing({ clients, limit: RECORDS });
    const startedAt = performance.now();
    const [p50, p99] = shares(await inTurn(PUSHES, pushing), 0.5, 0.99);
    const seconds = (performance.now() - startedAt) / 1_000;
    return { p50, p99, listsPerSecond: (await listers.end()) / seconds };
  };
  const { p50: pushBesideListP50, p99: pushBesideListP99 } = await beside(1);
  const { p50: pushBesideListsP50, p99: pushBesideListsP99, listsPerSecond } = await beside(LISTS_AT_ONCE);
  const pushes = { pushP50, pushBesideListP50, pushBesideListsP50, pushP99, pushBesideListP99, pushBesideListsP99 };
  return { listP99, ...pushes, listsPerSecond };
}

async function inTurn(count, measure) {
  const all = [];
  for (let place = 0; place < count; place += 1) {
    all.push(await measure());
    await sleep(PAUSE_MS);
  }
  return all;
}

async function timeOf(work) {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** A push with a condition that one of a hundred meets, over a million installations: how soon the first device has it, and what the dispatcher needs. */
async function million(server, devices) {
  if (server.dispatcher === undefined) return {};
  const names = namesOf('million', MILLION);
  await server.register(names);
  const watched = names.filter((_, index) => index % 100 === 7).slice(0, WATCHED_DEVICES);
  await devices.open({ ...server.device, names: watched, sendsAcks: true, atOnce: GENTLY });
  await devices.forget();
  const before = residentKb(server.dispatcher);
  const startedAt = now();
  const peakKb = await peakKbDuring(server.dispatcher, async () => {
    await server.untilDone(await server.push({ where: { city: 'c7' }, data: { alert: 'One of a hundred.' } }));
  });
  const took = now() - startedAt;
  const { firstAt, messages } = await devices.untilMessages(WATCHED_DEVICES, TIMEOUT_MS);
  await devices.close();
  if (messages < WATCHED_DEVICES) throw new Error(`${messages} of ${WATCHED_DEVICES} devices got the push`);
  return {
    millionFirstMs: firstAt - startedAt,
    millionSeconds: took / 1_000,
    millionGrowthMb: (peakKb - before) / 1_024,
  };
}

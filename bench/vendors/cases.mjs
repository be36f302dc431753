// The cases of the senders. A case returns numbers by the names of its rows in the report.
import { setTimeout as sleep } from 'node:timers/promises';
import { peakKbDuring, processorSeconds, residentKb } from '../process-usage.mjs';
import { now, shares } from '../push/figures.mjs';

const WARM_UP_DEVICES = 2_000;
const DELAY_MS = 50;
const LATENCY_PUSHES = 200;
const BESIDE_PUSHES = 100;
const PAUSE_MS = 30;
const SILENT_DEVICES = 2_000;
const SILENT_ROUNDS = 3;
const SILENCE_MS = 60_000;
/** Until the dispatcher is done with the push to the devices of a silent vendor. */
const DISPATCH_MS = 3_000;
const POLL_MS = 50;
const MESSAGE = { data: { title: 'Canteen', alert: 'Lunch is ready: soup, bread and apples.', order: { id: 7 } } };
const LISTS = ['huawei', 'honor', 'xiaomi', 'oppo', 'vivo', 'meizu'];

/** By case, the number of devices. */
export const DEVICES = {
  apns: 50_000,
  apnsDelay: 50_000,
  fcm: 30_000,
  webPush: 20_000,
  lists: 50_000,
  latency: 200_000,
  mixed: 1_000_000,
  silent: 30_000,
};

export const CASES = {
  apns: (gatepost, devices) => throughput(gatepost, 'apns', devices, 'apns'),
  apnsDelay,
  fcm: (gatepost, devices) => throughput(gatepost, 'fcm', devices, 'fcm'),
  webPush: (gatepost, devices) => throughput(gatepost, 'web-push', devices, 'webPush'),
  lists,
  latency,
  mixed,
  silent,
};

async function warmUp(gatepost, vendors) {
  const counts = Object.fromEntries(vendors.map((vendor) => [vendor, WARM_UP_DEVICES]));
  await gatepost.register(counts);
  await gatepost.untilSettled(await gatepost.push(MESSAGE), counts);
}

/** One push to all devices, until each has its outcome in the record. */
async function throughput(gatepost, vendor, devices, name) {
  await warmUp(gatepost, [vendor]);
  await gatepost.register({ [vendor]: devices });
  const [usedBefore, countBefore] = [processorSeconds(gatepost.sender), await gatepost.standIns.ask('count', vendor)];
  const startedAt = performance.now();
  await gatepost.untilSettled(await gatepost.push(MESSAGE), { [vendor]: devices });
  const seconds = (performance.now() - startedAt) / 1_000;
  const used = processorSeconds(gatepost.sender) - usedBefore;
  const sent = (await gatepost.standIns.ask('count', vendor)) - countBefore;
  return {
    [`${name}PerCore`]: devices / used,
    [`${name}PerSecond`]: devices / seconds,
    [`${name}Repeats`]: sent - devices,
  };
}

/** The same where each answer of the vendor takes its time, as over a long distance. */
async function apnsDelay(gatepost, devices) {
  await gatepost.standIns.ask('delay', DELAY_MS);
  const before = await gatepost.requestSeconds('apns');
  const figures = await throughput(gatepost, 'apns', devices, 'apnsDelay');
  const after = await gatepost.requestSeconds('apns');
  await gatepost.standIns.ask('delay', 0);
  return { ...figures, apnsDelayP99: percentile(before, after, 0.99) * 1_000 };
}

/** The upper bound of the histogram's bucket that this share of the requests does not exceed. */
function percentile(before, after, share) {
  const counts = [...after].map(([bound, count]) => [bound, count - (before.get(bound) ?? 0)]);
  const total = counts.at(-1)[1];
  return counts.find(([, count]) => count >= share * total)[0];
}

/** Vendors that take lists of devices. The rate of the slowest one counts. */
async function lists(gatepost, devices) {
  const figures = {};
  for (const vendor of LISTS) Object.assign(figures, await throughput(gatepost, vendor, devices, vendor));
  return figures;
}

/** From the answer to the application until the vendor has accepted the request: alone, and while a push to all devices runs. */
async function latency(gatepost, devices) {
  const token = await gatepost.register({ apns: devices });
  await gatepost.standIns.ask('watch', token);
  const where = { deviceToken: token };
  const measure = async (pushes) => {
    const all = [];
    for (let push = 0; push < pushes; push += 1) {
      await gatepost.push({ ...MESSAGE, where });
      const acceptedAt = now();
      all.push(Math.max(0, (await gatepost.standIns.arrival()) - acceptedAt));
      await sleep(PAUSE_MS);
    }
    return shares(all, 0.5, 0.99);
  };
  await measure(BESIDE_PUSHES);
  const [latencyP50, latencyP99] = await measure(LATENCY_PUSHES);
  const large = await gatepost.push({ ...MESSAGE, where: { deviceType: 'ios', deviceToken: { $ne: token } } });
  let isRunning = true;
  const settled = gatepost.untilSettled(large, { apns: devices - 1 }).then(() => {
    isRunning = false;
  });
  const [besideP50, besideP99] = await measure(BESIDE_PUSHES);
  const wasRunning = isRunning;
  await settled;
  if (!wasRunning)
    throw new Error('the push to all devices was over before the others were measured: use more devices');
  return { latencyP50, latencyP99, besideP50, besideP99 };
}

/** One push to devices of all vendors at once, and the memory that it takes: of the dispatcher also beside a push to as many without a vendor. */
async function mixed(gatepost, devices) {
  const vendors = ['apns', 'fcm', 'web-push', ...LISTS];
  await gatepost.register({ own: devices });
  const ownKb = await peakKbDuring(gatepost.dispatcher, async () => gatepost.untilDone(await gatepost.push(MESSAGE)));
  await gatepost.replaceDispatcher();
  await warmUp(gatepost, vendors);
  const each = Math.floor(devices / vendors.length);
  const counts = Object.fromEntries(vendors.map((vendor) => [vendor, each]));
  await gatepost.register(counts);
  const beforeKb = residentKb(gatepost.dispatcher);
  const startedAt = performance.now();
  const peaks = [gatepost.sender, gatepost.dispatcher];
  const settled = gatepost.push(MESSAGE).then((push) => gatepost.untilSettled(push, counts));
  const [senderKb, dispatcherKb] = await Promise.all(peaks.map((child) => peakKbDuring(child, () => settled)));
  return {
    mixedSenderMb: senderKb / 1_024,
    mixedDispatcherMb: dispatcherKb / 1_024,
    mixedDispatcherGrowth: (dispatcherKb / beforeKb - 1) * 100,
    mixedDispatcherMore: (dispatcherKb / ownKb - 1) * 100,
    mixedPerSecond: (each * vendors.length * 1_000) / (performance.now() - startedAt),
  };
}

/** What APNs' devices lose while FCM takes requests and answers none, and how the sender finds FCM again. */
async function silent(gatepost, devices) {
  const { standIns } = gatepost;
  await warmUp(gatepost, ['apns', 'fcm']);
  const counts = { apns: devices, fcm: SILENT_DEVICES };
  await gatepost.register(counts);
  const pushTo = (deviceType) => gatepost.push({ ...MESSAGE, where: { deviceType } });
  const secondsOfApns = async () => {
    const startedAt = performance.now();
    await gatepost.untilSettled(await pushTo('ios'), { apns: devices });
    return (performance.now() - startedAt) / 1_000;
  };
  const [alone, beside] = [[], []];
  for (let round = 0; round < SILENT_ROUNDS; round += 1) {
    alone.push(await secondsOfApns());
    await standIns.ask('silence', true);
    const waiting = await pushTo('android');
    await sleep(DISPATCH_MS);
    beside.push(await secondsOfApns());
    await standIns.ask('silence', false);
    await gatepost.untilSettled(waiting, { fcm: SILENT_DEVICES });
  }
  const [[aloneP50], [besideP50]] = [alone, beside].map((seconds) => shares(seconds, 0.5));
  return { silentShare: (100 * aloneP50) / besideP50, ...(await longSilence(gatepost, () => pushTo('android'))) };
}

async function longSilence({ standIns, sender, untilSettled }, push) {
  await standIns.ask('silence', true);
  const connectionsBefore = await standIns.ask('connectionsOfFcm');
  const waiting = await push();
  const before = residentKb(sender);
  const peakKb = await peakKbDuring(sender, () => sleep(SILENCE_MS));
  const connections = (await standIns.ask('connectionsOfFcm')) - connectionsBefore;
  const count = await standIns.ask('count', 'fcm');
  await standIns.ask('silence', false);
  const spokeAt = performance.now();
  while ((await standIns.ask('count', 'fcm')) === count) await sleep(POLL_MS);
  const silentReturn = (performance.now() - spokeAt) / 1_000;
  await untilSettled(waiting, { fcm: SILENT_DEVICES });
  const [silentGrowthMb, silentConnections] = [(peakKb - before) / 1_024, (connections * 1_000) / SILENCE_MS];
  return { silentConnections, silentGrowthMb, silentReturn };
}

// Gatepost with one sender, and the stand-ins that it sends to.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { APP, ended, freePort, ready } from '../bench-run.mjs';

const PARTITIONS = 64;
const ROWS_AT_ONCE = 10_000;
const POLL_MS = 100;
const TIMEOUT_MS = 600_000;
const SECRET = /secret|privateKey|serviceAccount/i;
/** By vendor, its name in an installation. */
const NAMES_IN_SDKS = {
  fcm: 'fcm',
  huawei: 'HMS',
  honor: 'honor',
  xiaomi: 'mi',
  oppo: 'oppo',
  vivo: 'vivo',
  meizu: 'mz',
};

/** @param profile the folder for a processor profile of the sender, written when it stops */
export async function startGatepost({ services, folder, launch, commandOf }, profile) {
  const standIns = await startStandIns(launch, join(folder, 'stand-ins'));
  const { env: addresses, credentials } = await standIns.ask('settings');
  const env = { ...services, ...addresses, GATEPOST_RATE_LIMIT_REQUESTS: 'off' };
  const command = commandOf(env);
  await command('migrate', '--quiet');
  const execArgv = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const start = async (app, more = {}, options = {}) => {
    const port = await freePort();
    const child = launch(`dist/apps/${app}/src/main.js`, { ...env, ...more, GATEPOST_PORT: port }, options);
    await ready(port);
    return { child, port };
  };
  const startDispatcher = () => start('push-delivery', { GATEPOST_PUSH_ROLES: 'dispatcher' });
  const [, gateway, dispatcher, sender] = await Promise.all([
    start('accounts', APP),
    start('gateway'),
    startDispatcher(),
    start('push-delivery', { GATEPOST_PUSH_ROLES: 'sender' }, { execArgv }),
  ]);
  for (const [vendor, fields] of Object.entries(credentials)) await setCredentials({ command, folder, vendor, fields });
  const database = new pg.Client({ connectionString: services.DATABASE_URL });
  await database.connect();
  const api = apiOf(`http://127.0.0.1:${gateway.port}`);
  return {
    sender: sender.child,
    get dispatcher() {
      return dispatcher.child;
    },
    /** Replaces the dispatcher by a new one, whose memory is that of a process that has done nothing. */
    async replaceDispatcher() {
      await ended(dispatcher.child);
      Object.assign(dispatcher, await startDispatcher());
    },
    standIns,
    push: api.push,
    untilDone: api.untilDone,
    untilSettled: api.untilSettled,
    requestSeconds: (vendor) => requestSeconds(sender.port, vendor),
    register: (counts) => register(database, standIns, counts),
    stop: () => database.end(),
  };
}

async function startStandIns(launch, folder) {
  mkdirSync(folder);
  const stdio = ['ignore', 'ignore', 'inherit', 'ipc'];
  const child = launch('bench/vendors/stand-ins-process.mjs', { STAND_INS_FOLDER: folder }, { stdio });
  await once(child, 'message');
  const calls = new Map();
  const arrivals = [];
  const awaited = [];
  child.on('message', ({ call, answer, got, at }) => {
    if (got === undefined) calls.get(call)(answer);
    else if (awaited.length > 0) awaited.shift()(at);
    else arrivals.push(at);
  });
  let last = 0;
  return {
    ask: (ask, options) =>
      new Promise((resolve) => {
        last += 1;
        calls.set(last, resolve);
        child.send({ call: last, ask, options });
      }),
    /** The time of the next message to the watched device, in milliseconds. */
    arrival: () => new Promise((resolve) => (arrivals.length > 0 ? resolve(arrivals.shift()) : awaited.push(resolve))),
    stop: () => ended(child),
  };
}

async function setCredentials({ command, folder, vendor, fields }) {
  const args = Object.entries(fields).map(([name, value]) => {
    if (!SECRET.test(name)) return `${name}=${value}`;
    const file = join(folder, `${vendor}-${name}`);
    writeFileSync(file, value, { mode: 0o600 });
    return `${name}=@${file}`;
  });
  await command('vendors', 'set', APP.GATEPOST_APP_ID, vendor, ...args);
}

function apiOf(url) {
  const headers = {
    'x-lc-id': APP.GATEPOST_APP_ID,
    'x-lc-key': `${APP.GATEPOST_MASTER_KEY},master`,
    'content-type': 'application/json',
  };
  const ask = async (path, body) => {
    const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, { headers, ...request });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path} was answered ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  };
  return {
    push: (body) => ask('/1.1/push', body),
    /** Resolves once the dispatcher has filled the queues of all devices. */
    async untilDone({ objectId }) {
      while ((await ask(`/1.1/notifications/${objectId}`)).status !== 'done') await sleep(POLL_MS);
    },
    /**
     * Resolves once each device has its outcome.
     * @param counts the number of devices by vendor @throws Error where a vendor has not accepted all of them
     */
    async untilSettled({ objectId }, counts) {
      const deadline = performance.now() + TIMEOUT_MS;
      while (performance.now() < deadline) {
        const { vendors = {} } = await ask(`/1.1/notifications/${objectId}`);
        const entries = Object.entries(counts).map(([vendor, devices]) => ({ devices, ...vendors[vendor] }));
        if (entries.every(({ devices, targeted, waiting }) => targeted === devices && waiting === 0)) {
          if (entries.every(({ devices, accepted }) => accepted === devices)) return;
          throw new Error(`not all devices were accepted: ${JSON.stringify(vendors)}`);
        }
        await sleep(POLL_MS);
      }
      throw new Error(`a push to ${Object.keys(counts).join(', ')} is not settled in time`);
    },
  };
}

/** Requests of the sender until now, by the upper bounds of its histogram in seconds. */
async function requestSeconds(port, vendor) {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const pattern = /^gatepost_push_vendor_request_seconds_bucket\{(.*)\} (\d+)$/gm;
  const buckets = [...text.matchAll(pattern)].filter(([, labels]) => labels.includes(`vendor="${vendor}"`));
  return new Map(buckets.map(([, labels, count]) => [Number(/le="([^"]+)"/.exec(labels)[1]), Number(count)]));
}

/**
 * Makes installations, and removes all others.
 * @param counts their number by vendor, or by `own` for devices that have none @returns the address of the first one
 */
async function register(database, standIns, counts) {
  await database.query('TRUNCATE push.installations CASCADE');
  let [first, made] = [undefined, 0];
  for (const [vendor, count] of Object.entries(counts)) {
    const addresses = await addressesOf(standIns, vendor, count);
    first ??= tokenOf(vendor, addresses[0]) ?? addresses[0];
    const type = { apns: 'ios', 'web-push': 'web' }[vendor] ?? 'android';
    for (let from = 0; from < count; from += ROWS_AT_ONCE) {
      const some = addresses.slice(from, from + ROWS_AT_ONCE);
      const fields = some.map((address) => JSON.stringify(fieldsOf(vendor, address)));
      const tokens = some.map((address) => tokenOf(vendor, address));
      await database.query(INSERT, [APP.GATEPOST_APP_ID, type, tokens, fields, made, PARTITIONS]);
      made += some.length;
    }
  }
  await database.query('ANALYZE push.installations');
  return first;
}

async function addressesOf(standIns, vendor, count) {
  if (vendor === 'web-push') return standIns.ask('subscriptions', count);
  // No first digits that a stand-in refuses.
  if (vendor === 'apns') return Array.from({ length: count }, () => `a0${randomBytes(31).toString('hex')}`);
  return Array.from({ length: count }, (_, index) => `${vendor}-${index}`);
}

function tokenOf(vendor, address) {
  if (vendor === 'web-push') return address.endpoint;
  return vendor === 'apns' ? address : null;
}

function fieldsOf(vendor, address) {
  if (vendor === 'apns' || vendor === 'own') return {};
  return vendor === 'web-push' ? { webPush: address } : { vendor: NAMES_IN_SDKS[vendor], registrationId: address };
}

const INSERT = `
  INSERT INTO push.installations (app_id, object_id, partition, installation_id, device_type, device_token, fields, created_at, updated_at)
  SELECT $1, substr(md5('device' || ($5::int + place)), 1, 24), ($5::int + place) % $6::int, 'device' || ($5::int + place), $2, token,
    fields::jsonb, now(), now()
  FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS installation (token, fields, place)`;

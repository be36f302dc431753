// Gatepost as a push server: one process of each service, dispatcher and connector apart.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { Redis } from 'ioredis';
import pg from 'pg';
import { APP, ended, freePort, ready, SERVERS } from '../bench-run.mjs';

const PARTITIONS = 64;
const ROWS_AT_ONCE = 10_000;
const POLL_MS = 20;
const DONE_TIMEOUT_MS = 300_000;
/** With it a frame is about 256 bytes long, as a message of Mosquitto is. */
export const ALERT = '.'.repeat(140);

/** @param profile the folder for a processor profile of the connector, written when it stops */
export async function startGatepost({ services, launch, command }, profile) {
  await command('migrate', '--quiet');
  const env = { ...services, GATEPOST_RATE_LIMIT_DEVICE_LOGINS: 'off', GATEPOST_RATE_LIMIT_REQUESTS: 'off' };
  const execArgv = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const start = async (app, more = {}, options = {}) => {
    const port = await freePort();
    const child = launch(`dist/apps/${app}/src/main.js`, { ...env, ...more, GATEPOST_PORT: port }, options);
    await ready(port);
    return { child, port };
  };
  const [, gateway, dispatcher, connector] = await Promise.all([
    start('accounts', APP),
    start('gateway'),
    start('push-delivery', { GATEPOST_PUSH_ROLES: 'dispatcher' }),
    start('push-delivery', { GATEPOST_PUSH_ROLES: 'connector' }, { execArgv }),
  ]);
  const api = apiOf(`http://127.0.0.1:${gateway.port}`);
  const database = new pg.Client({ connectionString: services.DATABASE_URL });
  await database.connect();
  const redis = new Redis(SERVERS.REDIS_URL);
  return {
    kind: 'gatepost',
    title: 'Gatepost',
    server: connector.child,
    dispatcher: dispatcher.child,
    keepsMessages: true,
    device: { kind: 'websocket', port: connector.port, appId: APP.GATEPOST_APP_ID },
    register: (names) => register(database, names),
    pushToAll: () => api.push({ data: { alert: ALERT } }),
    pushToOne: async (installationId) =>
      (await api.push({ where: { installationId }, data: { alert: ALERT } })).objectId,
    push: api.push,
    untilDone: api.untilDone,
    list: api.list,
    startListing: ({ clients, limit }) => startListing(launch, { clients, ...api.listRequest(limit) }),
    redisSeconds: () => redisSeconds(redis),
    redisBytes: async () => Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))[1]),
    launch,
    /** More connectors, besides `server`. */
    startConnectors: (count) =>
      Promise.all(Array.from({ length: count }, () => start('push-delivery', { GATEPOST_PUSH_ROLES: 'connector' }))),
    async stop() {
      await database.end();
      redis.disconnect();
    },
  };
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
    /** The newest records of pushes. */
    list: (limit) => ask(listPath(limit)),
    listRequest: (limit) => ({ url: `${url}${listPath(limit)}`, headers }),
    /** Resolves once the push has reached every device, or is in its queue. */
    async untilDone({ objectId }) {
      const deadline = performance.now() + DONE_TIMEOUT_MS;
      while (performance.now() < deadline) {
        const { status } = await ask(`/1.1/tables/Notifications/${objectId}`);
        if (status === 'done') return;
        if (status === 'error') throw new Error('a push ended with an error');
        await sleep(POLL_MS);
      }
      throw new Error('a push is not done in time');
    },
  };
}

const listPath = (limit) => `/1.1/notifications?limit=${limit}`;

/** Lists without a pause until `end`, which resolves to the number of lists. Resolves once the first list is there. */
async function startListing(launch, options) {
  const child = launch(
    'bench/push/list-clients.mjs',
    { LIST_CLIENTS: JSON.stringify(options) },
    { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
  );
  const statuses = [];
  child.on('message', ({ status }) => statuses.push(status));
  await once(child, 'message');
  return {
    async end() {
      await ended(child);
      const refused = statuses.filter((status) => status !== 200).length;
      if (refused > 0) throw new Error(`${refused} of ${statuses.length} lists were refused`);
      return statuses.length;
    },
  };
}

/** Makes installations with these ids, and no others. Every hundredth one is in the city c0, and so on. */
async function register(database, names) {
  const appId = APP.GATEPOST_APP_ID;
  await database.query('TRUNCATE push.installations CASCADE');
  for (let from = 0; from < names.length; from += ROWS_AT_ONCE) {
    const some = names.slice(from, from + ROWS_AT_ONCE);
    await database.query(INSERT, [
      appId,
      some,
      some.map((name) => crc32(`${appId}:${name}`) % PARTITIONS),
      some.map((_, index) => JSON.stringify({ city: `c${index % 100}` })),
    ]);
  }
  await database.query('ANALYZE push.installations');
}

const INSERT = `
  INSERT INTO push.installations (app_id, object_id, partition, installation_id, device_type, fields, created_at, updated_at)
  SELECT $1, substr(md5(name), 1, 24), partition, name, 'web', fields::jsonb, now(), now()
  FROM unnest($2::text[], $3::int[], $4::text[]) AS installation (name, partition, fields)`;

/** Seconds of processor time that Redis has used until now. */
async function redisSeconds(redis) {
  const info = await redis.info('cpu');
  const sum = ['used_cpu_sys', 'used_cpu_user'].map((name) =>
    Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)[1]),
  );
  return sum[0] + sum[1];
}

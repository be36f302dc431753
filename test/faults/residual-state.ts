import { Redis } from 'ioredis';
import { rowsOf } from '../load/account.js';
import type { Cluster, Service } from '../load/cluster.js';
import type { Replica } from '../load/replicas.js';

/** Metrics of all services, of those with a database, with a queue and with Redis. */
const EVERYBODY = [
  'gatepost_ready',
  'gatepost_broker_connected',
  'gatepost_broker_blocked',
  'gatepost_broker_pending_bytes',
];
const DATABASE = ['gatepost_database_pool_connections', 'gatepost_database_pool_waiting'];
const QUEUE = ['gatepost_broker_queue_messages'];
const REDIS = ['gatepost_redis_connected', 'gatepost_redis_commands_in_flight'];
const EXPECTED: Readonly<Record<Service, readonly string[]>> = {
  accounts: [...DATABASE, ...QUEUE, ...REDIS, 'gatepost_password_queue_length', 'gatepost_outbox_waiting'],
  'auth-linking': [...DATABASE, ...QUEUE],
  mail: [...DATABASE, ...QUEUE, 'gatepost_deliveries_waiting'],
  dispatcher: [...DATABASE, ...QUEUE, ...REDIS, 'gatepost_push_waiting'],
  connector: REDIS,
  gateway: [...QUEUE, ...REDIS],
};
/** Samples that are 1 where everything works; the others are 0 where nothing is under way. */
const WELL = new Set(['gatepost_ready', 'gatepost_broker_connected', 'gatepost_redis_connected']);
/** Connections that are open and wait for work. */
const IDLE_CONNECTIONS = 'state="idle"';
/** No attempt to log in keeps its place for longer. */
const RESERVED_MS = 10_000;

const UNFINISHED = {
  'events in the outbox': 'SELECT id FROM accounts.outbox',
  'mails that are not sent': `SELECT id FROM mail.deliveries WHERE status <> 'sent' OR lease IS NOT NULL`,
  'pushes that are not done': `SELECT seq FROM push.notifications WHERE status <> 'done' OR lease_until IS NOT NULL`,
};

/** All work in progress, state of ended processes, and dead letters. */
export async function residualState(cluster: Cluster): Promise<string[]> {
  const deadLetters = await cluster.command('dead-letters', 'count');
  const [rows, queues, samples] = await Promise.all([
    unfinishedRows(cluster.env['DATABASE_URL'] ?? ''),
    withRedis(cluster, (redis) => redis.keys('*:push:*:queue:*')),
    Promise.all(
      [...cluster.services].flatMap(([service, replicas]) => replicas.map((replica) => wrongSamples(service, replica))),
    ),
  ]);
  return [
    ...rows,
    ...queues,
    ...samples.flat(),
    ...(/[1-9]/.test(deadLetters) ? [`dead letters: ${deadLetters}`] : []),
  ];
}

/** Each lock, and each place of an attempt to log in that is reserved for longer than an attempt may take. */
export function lastingReservations(cluster: Cluster): Promise<string[]> {
  return withRedis(cluster, async (redis) => {
    const locks = await redis.keys('*:lockout:locks:*');
    const reservations = await redis.keys('*:lockout:reservations:*');
    return [...locks, ...(await Promise.all(reservations.map((key) => lastingReservation(redis, key)))).flat()];
  });
}

/** The key goes when the last of its places has, so that one without an end would stay for good. */
async function lastingReservation(redis: Redis, key: string): Promise<string[]> {
  const [seconds = '0', microseconds = '0'] = (await redis.time()).map(String);
  const now = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  const [leftMs, [, last = '0']] = [await redis.pttl(key), await redis.zrange(key, -1, -1, 'WITHSCORES')];
  const isGone = leftMs === -2;
  const isShort = leftMs >= 0 && leftMs <= RESERVED_MS && Number(last) <= now + RESERVED_MS;
  return isGone || isShort ? [] : [`${key}: ${leftMs} ms left, the last place ${Math.round(Number(last) - now)} ms`];
}

async function withRedis<T>({ env }: Cluster, read: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(env['REDIS_URL'] ?? '');
  try {
    return await read(redis);
  } finally {
    redis.disconnect();
  }
}

async function unfinishedRows(databaseUrl: string): Promise<string[]> {
  const counts = Object.entries(UNFINISHED).map(async ([what, sql]) => {
    const { length } = await rowsOf(databaseUrl, sql);
    return length === 0 ? [] : [`${length} ${what}`];
  });
  return (await Promise.all(counts)).flat();
}

async function wrongSamples(service: Service, { process, port }: Replica): Promise<string[]> {
  if (!process.isRunning) return [`a process ended: ${process.stderr.slice(-1_000)}`];
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  if (answer.status !== 200) return [`${service} answers ${answer.status} for its metrics`];
  const lines = (await answer.text()).split('\n');
  return [...EVERYBODY, ...EXPECTED[service]].flatMap((name) => {
    const samples = lines.filter((line) => /^\w+/.exec(line)?.[0] === name && !line.includes(IDLE_CONNECTIONS));
    if (samples.length === 0) return [`${service} does not log ${name}`];
    const value = WELL.has(name) ? '1' : '0';
    return samples.filter((line) => !line.endsWith(` ${value}`)).map((line) => `${service}: ${line}`);
  });
}

import { Redis } from 'ioredis';
import { rowsOf } from '../load/account.js';
import type { Cluster } from '../load/cluster.js';
import type { Replica } from '../load/replicas.js';

/** Samples that are 0 where nothing is under way. */
const IDLE =
  /^gatepost_(?:redis_commands_in_flight|password_queue_length|database_pool_waiting|broker_queue_messages|outbox_waiting|push_waiting|deliveries_waiting)\b/;
/** Samples that are 1 where everything works. */
const WELL = /^gatepost_(?:ready|broker_connected|redis_connected)\b/;

const UNFINISHED = {
  'events in the outbox': 'SELECT id FROM accounts.outbox',
  'mails that are not sent': `SELECT id FROM mail.deliveries WHERE status <> 'sent' OR lease IS NOT NULL`,
  'pushes that are not done': `SELECT seq FROM push.notifications WHERE status <> 'done' OR lease_until IS NOT NULL`,
};

/** Whatever is still under way, kept for somebody who is gone, or put aside. */
export async function leftovers(cluster: Cluster): Promise<string[]> {
  const deadLetters = await cluster.command('dead-letters', 'count');
  const [rows, keys, samples] = await Promise.all([
    unfinishedRows(cluster.env['DATABASE_URL'] ?? ''),
    reservedPlaces(cluster.env['REDIS_URL'] ?? ''),
    Promise.all(cluster.replicas.map(wrongSamples)),
  ]);
  return [...rows, ...keys, ...samples.flat(), ...(/[1-9]/.test(deadLetters) ? [`dead letters: ${deadLetters}`] : [])];
}

async function unfinishedRows(databaseUrl: string): Promise<string[]> {
  const counts = Object.entries(UNFINISHED).map(async ([what, sql]) => {
    const { length } = await rowsOf(databaseUrl, sql);
    return length === 0 ? [] : [`${length} ${what}`];
  });
  return (await Promise.all(counts)).flat();
}

/** Places that attempts to log in have reserved, locks, and messages that wait for devices. */
async function reservedPlaces(redisUrl: string): Promise<string[]> {
  const redis = new Redis(redisUrl);
  try {
    const patterns = ['*:lockout:reservations:*', '*:lockout:locks:*', '*:push:*:queue:*'];
    return (await Promise.all(patterns.map((pattern) => redis.keys(pattern)))).flat();
  } finally {
    redis.disconnect();
  }
}

async function wrongSamples({ process, port }: Replica): Promise<string[]> {
  if (!process.isRunning) return [`a process ended: ${process.stderr.slice(-1_000)}`];
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => (IDLE.test(line) && !line.endsWith(' 0')) || (WELL.test(line) && !line.endsWith(' 1')));
}

// Checks that a server answers: with its own protocol and the given credentials, not just with an open port.
import amqplib from 'amqplib';
import { Redis } from 'ioredis';
import pg from 'pg';

const ANSWER_TIMEOUT_MS = 4_000;

/** Asks each kind of server something small. They reject where the server does not answer. */
const handshakes = {
  async postgresql(url) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: ANSWER_TIMEOUT_MS });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('SELECT 1');
    } finally {
      await client.end().catch(() => undefined);
    }
  },
  async redis(url) {
    const client = new Redis(url, { lazyConnect: true, retryStrategy: null, connectTimeout: ANSWER_TIMEOUT_MS });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.ping();
    } finally {
      client.disconnect();
    }
  },
  async rabbitmq(url) {
    const connection = await amqplib.connect(url, { timeout: ANSWER_TIMEOUT_MS });
    connection.on('error', () => undefined);
    const channel = await connection.createChannel();
    await channel.close();
    await connection.close();
  },
};

/** Whether a server of the kind answers at the URL. */
export async function answers(kind, url) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(reject, ANSWER_TIMEOUT_MS, new Error('no answer'));
  });
  try {
    await Promise.race([handshakes[kind](url), timeout]);
    return true;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when the server answers. @throws Error where it has not within the time, or `isAlive` says that it never will */
export async function untilAnswers(kind, url, timeoutMs, isAlive = () => true) {
  const deadline = Date.now() + timeoutMs;
  while (isAlive() && Date.now() < deadline) {
    if (await answers(kind, url)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(isAlive() ? `it did not answer within ${timeoutMs / 1000} s` : 'it ended while starting');
}

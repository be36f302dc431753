import { Logger } from '@nestjs/common';
import { Redis as Client } from 'ioredis';
import { messageOf } from '#errors';
import type { Metrics } from '#observability';
import { isUnknownScript, translateRedisError } from './redis-error.js';
import type { RedisScript } from './redis-script.js';

const CONNECT_TIMEOUT_MS = 2_000;
/** Callers answer within a second, whether Redis refuses, is silent or is not there. */
const COMMAND_TIMEOUT_MS = 800;
/** How long a connection that is given up may take to close. */
const DISCONNECT_TIMEOUT_MS = 500;
const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;
const KEEP_ALIVE_MS = 10_000;

/** Where Redis is, and under which names this process works there. */
export interface RedisOptions {
  /** `redis://` or `rediss://`; it may hold a password. */
  readonly url: string;
  /** Begins the name of every key: deployments can share a server. */
  readonly namespace: string;
  /** How the connection is called in Redis' own `CLIENT LIST`. */
  readonly connectionName: string;
}

/**
 * The process's connection to Redis. It connects in the background, again and again. While it cannot, every command fails at
 * once with SERVICE_UNAVAILABLE; none is kept for later or sent twice.
 */
export class Redis {
  private readonly logger = new Logger('Redis');
  readonly #client: Client;
  readonly #prefix: string;
  /** Counts connections, so that a command knows whether its own is still the one in use. */
  #connection = 0;
  #inFlight = 0;
  #isAway = false;
  #isClosed = false;
  #lastReason = 'the connection was closed';

  constructor(
    { url, namespace, connectionName }: RedisOptions,
    private readonly metrics?: Pick<Metrics, 'redisCommands'>,
  ) {
    this.#prefix = `${namespace}:`;
    this.#client = new Client(url, {
      connectionName,
      connectTimeout: CONNECT_TIMEOUT_MS,
      commandTimeout: COMMAND_TIMEOUT_MS,
      disconnectTimeout: DISCONNECT_TIMEOUT_MS,
      keepAlive: KEEP_ALIVE_MS,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (attempt) => Math.min(FIRST_RETRY_MS * attempt, LONGEST_RETRY_MS),
      // After a failover the old master only reads: the address may lead to the new one by now.
      reconnectOnError: ({ message }) => message.startsWith('READONLY'),
    });
    this.#client.on('ready', () => {
      this.#connected();
    });
    this.#client.on('error', (error: Error) => {
      this.#lastReason = error.message;
    });
    this.#client.on('close', () => {
      this.#lost();
    });
  }

  get isConnected(): boolean {
    return this.#client.status === 'ready';
  }

  /** Commands that wait for their answer. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Runs a script. Each key gets the namespace before it.
   * @throws AppError SERVICE_UNAVAILABLE where Redis does not answer; whether the script has run is then not known
   */
  async run<Reply>(script: RedisScript, keys: readonly string[], values: readonly (string | number)[]): Promise<Reply> {
    const named = [...keys.map((key) => this.#prefix + key), ...values];
    return this.#answered(async () => {
      try {
        return (await this.#client.evalsha(script.sha1, keys.length, ...named)) as Reply;
      } catch (error) {
        if (!isUnknownScript(error)) throw error;
        return (await this.#client.eval(script.lua, keys.length, ...named)) as Reply;
      }
    });
  }

  /** @throws AppError SERVICE_UNAVAILABLE where Redis does not answer */
  async ping(): Promise<void> {
    await this.#answered(() => this.#client.ping());
  }

  /** What Redis says of itself: fields of INFO, and its time in milliseconds since 1970. @throws as `ping` */
  async describe(): Promise<{ readonly info: ReadonlyMap<string, string>; readonly time: number }> {
    const [text, [seconds, microseconds]] = await this.#answered(() =>
      Promise.all([this.#client.info(), this.#client.time()]),
    );
    const info = new Map(text.split('\r\n').map((line) => line.split(/:(.*)/s, 2) as [string, string]));
    return { info, time: Number(seconds) * 1_000 + Math.round(Number(microseconds) / 1_000) };
  }

  close(): void {
    this.#isClosed = true;
    this.#client.disconnect();
  }

  async #answered<T>(command: () => Promise<T>): Promise<T> {
    const connection = this.#connection;
    const askedAt = performance.now();
    let outcome = 'ok';
    this.#inFlight += 1;
    try {
      return await command();
    } catch (error) {
      outcome = 'failed';
      this.#giveUpSilent(error, connection);
      throw translateRedisError(error);
    } finally {
      this.#inFlight -= 1;
      this.metrics?.redisCommands.observe({ outcome }, (performance.now() - askedAt) / 1_000);
    }
  }

  /** A connection on which nothing comes back is replaced: the next commands shall not wait for it too. */
  #giveUpSilent(error: unknown, connection: number): void {
    if (messageOf(error) !== 'Command timed out' || connection !== this.#connection || this.#isClosed) return;
    this.#connection += 1;
    this.#lastReason = 'no answer';
    this.#client.disconnect(true);
  }

  #connected(): void {
    this.#connection += 1;
    if (this.#isAway) this.logger.log('connected again');
    this.#isAway = false;
  }

  /** Told once: it is tried again every two seconds. */
  #lost(): void {
    if (this.#isAway || this.#isClosed) return;
    this.#isAway = true;
    this.logger.warn(`not connected: ${this.#lastReason}`);
  }
}

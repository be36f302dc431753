import { createHash } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { Redis as Client } from 'ioredis';
import { parseRedisUrl } from '#bootstrap';
import { messageOf } from '#errors';
import type { Metrics } from '#observability';
import { ClusterConnection } from './cluster-connection.js';
import {
  type Connection,
  type ConnectionEvents,
  isUnknownScript,
  SingleConnection,
  translateRedisError,
} from './single-connection.js';

/**
 * A Lua script: one move, which Redis makes as a whole. It must take the names of its keys from KEYS, or begin them with one of
 * those and its hash tag, so that all lie on one node of a cluster; and the time from `TIME`: clocks of replicas differ.
 *
 * A script of several keys is also given one that is never there. While a cluster moves the keys of its slot to another node
 * one by one, the script would find some of them missing. Given a key that is missing among others, both nodes refuse it with
 * TRYAGAIN before it begins, until all keys have moved.
 */
export class RedisScript {
  /** The name under which Redis keeps the script. */
  readonly sha1: string;

  constructor(readonly lua: string) {
    this.sha1 = createHash('sha1').update(lua).digest('hex');
  }
}

/**
 * Lua that defines `isBehind(one, other)`: whether a text stands behind another one by its bytes, as JavaScript and PostgreSQL's
 * collation "C" order ids. Lua's own operators follow the locale of the server.
 */
export const IS_BEHIND = `
local function isBehind(one, other)
  for place = 1, math.min(#one, #other) do
    local left, right = string.byte(one, place), string.byte(other, place)
    if left ~= right then return left > right end
  end
  return #one > #other
end
`;

/** Where Redis is, and under which names this process works there. */
export interface RedisOptions {
  /** As REDIS_URL has it: one server, a cluster or Sentinels. It may hold a password. */
  readonly url: string;
  /** Begins the name of every key: deployments can share a server. */
  readonly namespace: string;
  /** How the connection is called in Redis' own `CLIENT LIST`. */
  readonly connectionName: string;
}

/** What a server of Redis says of itself. */
export interface RedisDescription {
  /** Fields of INFO. */
  readonly info: ReadonlyMap<string, string>;
  /** Its time, in milliseconds since 1970. */
  readonly time: number;
}

/**
 * The process's connection to Redis: one server, or each master of a cluster. It connects in the background, again and again.
 * While it cannot, every command fails at once with SERVICE_UNAVAILABLE; none is kept for later or sent twice.
 */
export class Redis {
  private readonly logger = new Logger('Redis');
  readonly #connection: Connection;
  readonly #prefix: string;
  #inFlight = 0;
  #isAway = false;
  #isClosed = false;
  #lastReason = 'the connection was closed';

  constructor(
    { url, namespace, connectionName }: RedisOptions,
    private readonly metrics?: Pick<Metrics, 'redisCommands'>,
  ) {
    this.#prefix = `${namespace}:`;
    this.#connection = connectionTo(url, connectionName, {
      connected: () => {
        this.#connected();
      },
      lost: () => {
        this.#lost();
      },
      failed: (reason) => {
        this.#lastReason = reason;
      },
    });
  }

  /** Where Redis is a cluster: whether all its masters are connected. */
  get isConnected(): boolean {
    return this.#connection.isReady;
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
    const { commands } = this.#connection;
    return this.#answered(async () => {
      try {
        return (await commands.evalsha(script.sha1, keys.length, ...named)) as Reply;
      } catch (error) {
        if (!isUnknownScript(error)) throw error;
        return (await commands.eval(script.lua, keys.length, ...named)) as Reply;
      }
    });
  }

  /** @throws AppError SERVICE_UNAVAILABLE where Redis does not answer, or a part of the cluster does not serve */
  async ping(): Promise<void> {
    await this.#answered(() => this.#connection.ping());
  }

  /**
   * Names the memory that there is: another name than before means that a server was started anew, or that another one took
   * over, so that something written before may be gone. @throws as `ping`
   */
  async memory(): Promise<string> {
    const runs = await this.#answered(() => Promise.all(this.#connection.masters().map(runOf)));
    return runs.sort().join(' ');
  }

  /** What asks each server what it says of itself, by the server's address. @throws as `ping` */
  servers(): ReadonlyMap<string, () => Promise<RedisDescription>> {
    return new Map(
      this.#connection
        .servers()
        .map((server) => [
          `${server.options.host}:${server.options.port}`,
          () => this.#answered(() => describe(server)),
        ]),
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#connection.close();
  }

  async #answered<T>(command: () => Promise<T>): Promise<T> {
    const { generation } = this.#connection;
    const askedAt = performance.now();
    let outcome = 'ok';
    this.#inFlight += 1;
    try {
      return await command();
    } catch (error) {
      outcome = 'failed';
      this.#giveUpSilent(error, generation);
      throw translateRedisError(error);
    } finally {
      this.#inFlight -= 1;
      this.metrics?.redisCommands.observe({ outcome }, (performance.now() - askedAt) / 1_000);
    }
  }

  /** A connection on which nothing comes back is replaced: the next commands shall not wait for it too. */
  #giveUpSilent(error: unknown, generation: number): void {
    if (messageOf(error) === 'Command timed out' && !this.#isClosed) this.#connection.giveUp(generation);
  }

  #connected(): void {
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

function connectionTo(url: string, connectionName: string, events: ConnectionEvents): Connection {
  const servers = parseRedisUrl(url);
  if (servers === undefined) throw new Error('the URL of Redis has another form than REDIS_URL may have');
  if (servers.kind === 'cluster') return new ClusterConnection(servers, connectionName, events);
  return new SingleConnection(servers, connectionName, events);
}

/** Which run of the server it is; INFO may be forbidden to us. */
async function runOf(server: Client): Promise<string> {
  try {
    return /^run_id:(\w+)/m.exec(await server.info('server'))?.[1] ?? 'unknown';
  } catch (error) {
    if (messageOf(error).startsWith('NOPERM')) return 'unknown';
    throw error;
  }
}

async function describe(server: Client): Promise<RedisDescription> {
  const [text, [seconds, microseconds]] = await Promise.all([server.info(), server.time()]);
  const info = new Map(text.split('\r\n').map((line) => line.split(/:(.*)/s, 2) as [string, string]));
  return { info, time: Number(seconds) * 1_000 + Math.round(Number(microseconds) / 1_000) };
}

import { createHash } from 'node:crypto';
import { type DynamicModule, Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import { type Redis as Client, ReplyError } from 'ioredis';
import { parseRedisUrl } from '#bootstrap';
import { appError, messageOf, ServerAway } from '#errors';
import { Metrics, ProcessInfo, Readiness, type ServerInfo, skewOf } from '#observability';
import {
  ClusterConnection,
  codeOf,
  type Connection,
  type ConnectionEvents,
  gatherWrites,
  type SharedWrite,
  SingleConnection,
} from './connections.js';

/** A Lua script on one node: its keys share a hash tag. A script with several keys gets one more that never exists (ADR 29). */
export class RedisScript {
  readonly sha1: string;

  constructor(readonly lua: string) {
    this.sha1 = createHash('sha1').update(lua).digest('hex');
  }
}

/** `now` in milliseconds, by the clock of the server; `time`: its seconds and microseconds. */
export const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** `isBehind(one, other)`: by bytes, as JavaScript and the collation "C" sort ids. Lua's operators use the locale of the server. */
export const IS_BEHIND = `
local function isBehind(one, other)
  for place = 1, math.min(#one, #other) do
    local left, right = string.byte(one, place), string.byte(other, place)
    if left ~= right then return left > right end
  end
  return #one > #other
end
`;

export interface RedisOptions {
  /** A URL in the form of REDIS_URL: one server, a cluster or Sentinels. It may contain a password. */
  readonly url: string;
  /** Prefix of every key, so that deployments can share servers. */
  readonly namespace: string;
  readonly connectionName: string;
}

export interface RedisDescription {
  readonly info: ReadonlyMap<string, string>;
  readonly time: number;
}

/** Connects in the background. Until then, every command fails at once with SERVICE_UNAVAILABLE; none is queued or repeated. */
export class Redis {
  readonly #logger = new Logger('Redis');
  readonly #connection: Connection;
  readonly #prefix: string;
  #write: SharedWrite | undefined;
  #inFlight = 0;
  #isAway = false;
  #isClosed = false;
  #lastReason = 'no answer yet';

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

  get isConnected(): boolean {
    return this.#connection.isReady;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** @throws AppError SERVICE_UNAVAILABLE where Redis does not reply; the script may or may not have run then */
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

  async ping(): Promise<void> {
    await this.#answered(() => this.#connection.ping(`${this.#prefix}never`));
  }

  /** A changed id means that a server has restarted or was replaced, so that earlier writes may be lost. @throws as `ping` */
  async memory(): Promise<string> {
    const runs = await this.#answered(() => Promise.all(this.#connection.masters().map(runOf)));
    return runs.sort().join(' ');
  }

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
    if (this.#write?.sent !== undefined) this.#write = undefined;
    const write = (this.#write ??= gatherWrites(this.#connection));
    const askedAt = performance.now();
    let outcome = 'ok';
    this.#inFlight += 1;
    try {
      return await command();
    } catch (error) {
      outcome = 'failed';
      await this.#giveUpSilent(error, write);
      throw translateRedisError(this.#withReason(error));
    } finally {
      this.#inFlight -= 1;
      this.metrics?.redisCommands.observe({ outcome }, (performance.now() - askedAt) / 1_000);
    }
  }

  /** Replaces a connection that stays silent, so that later commands do not wait for it. */
  async #giveUpSilent(error: unknown, write: SharedWrite): Promise<void> {
    if (messageOf(error) === 'Command timed out' && !this.#isClosed) await this.#connection.giveUp(write);
  }

  #withReason(error: unknown): unknown {
    return this.isConnected || isReply(error) ? error : new Error(`not connected: ${this.#lastReason}`);
  }

  #connected(): void {
    this.#lastReason = 'the connection was closed';
    if (this.#isAway) this.#logger.log('connected again');
    this.#isAway = false;
  }

  /** Logged once per outage, because the connection is retried every two seconds. */
  #lost(): void {
    if (this.#isAway || this.#isClosed) return;
    this.#isAway = true;
    this.#logger.warn(`not connected: ${this.#lastReason}`);
  }
}

/** Codes of error replies of a server that starts or is being replaced: they end without an operator. */
const AWAY = ['LOADING', 'READONLY', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN'];
const AWAY_CODES: ReadonlySet<string | undefined> = new Set(AWAY);

/** Also those for other temporary conditions: no memory, a full disk, a wrong password, keys that move to another node, and the like. */
const REFUSED = ['BUSY', 'MOVED', 'ASK', 'NOREPLICAS', 'OOM', 'MISCONF', 'NOAUTH', 'WRONGPASS', 'NOPERM'];
const TRANSIENT_CODES: ReadonlySet<string | undefined> = new Set([...AWAY, ...REFUSED]);

/** No reply: SERVICE_UNAVAILABLE. Other error replies are programming errors and stay, without arguments, which logs must not show. */
export function translateRedisError(error: unknown): unknown {
  const message = messageOf(error);
  const code = codeOf(message);
  if (isReply(error) && !TRANSIENT_CODES.has(code)) return withoutCommand(error);
  const isAway = !isReply(error) || AWAY_CODES.has(code);
  const reason = `Redis: ${message}`;
  return appError('SERVICE_UNAVAILABLE', { cause: isAway ? new ServerAway(reason) : new Error(reason) });
}

/** ioredis adds the command with its arguments, such as tokens. */
function withoutCommand(error: Error & { command?: unknown }): Error {
  delete error.command;
  return error;
}

export function isUnknownScript(error: unknown): boolean {
  return isReply(error) && messageOf(error).startsWith('NOSCRIPT');
}

function isReply(error: unknown): error is Error {
  return error instanceof (ReplyError as new () => Error);
}

function connectionTo(url: string, connectionName: string, events: ConnectionEvents): Connection {
  const servers = parseRedisUrl(url);
  if (servers === undefined) throw new Error('the URL of Redis does not have the form of REDIS_URL');
  if (servers.kind === 'cluster') return new ClusterConnection(servers, connectionName, events);
  return new SingleConnection(servers, connectionName, events);
}

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

const REDIS_MODULE_OPTIONS = Symbol('RedisModuleOptions');

interface RedisModuleOptions extends RedisOptions {
  /** Whether /readyz reports an unavailable Redis as a problem of the process. */
  readonly isRequired: boolean;
}

@Module({})
export class RedisModule implements OnApplicationShutdown {
  constructor(
    private readonly redis: Redis,
    @Inject(REDIS_MODULE_OPTIONS) { isRequired }: RedisModuleOptions,
    readiness: Readiness,
    metrics: Metrics,
    processInfo: ProcessInfo,
  ) {
    metrics.sample({
      gauges: [metrics.redisConnected, metrics.redisInFlight],
      read: () => {
        metrics.redisConnected.set(redis.isConnected ? 1 : 0);
        metrics.redisInFlight.set(redis.inFlight);
      },
    });
    processInfo.serversOf(() => this.#servers());
    if (isRequired) readiness.register('redis', () => redis.ping());
  }

  static forRoot(options: RedisModuleOptions): DynamicModule {
    return {
      module: RedisModule,
      global: true,
      providers: [
        { provide: REDIS_MODULE_OPTIONS, useValue: options },
        { provide: Redis, useFactory: (metrics: Metrics) => new Redis(options, metrics), inject: [Metrics] },
      ],
      exports: [Redis],
    };
  }

  #servers(): ReadonlyMap<string, () => Promise<ServerInfo>> {
    const servers = [...this.redis.servers()];
    if (servers.length === 0) return new Map([['redis', () => Promise.reject(new Error('not connected'))]]);
    return new Map(
      servers.map(([address, describe]) => [
        servers.length === 1 ? 'redis' : `redis ${address}`,
        () => factsFrom(describe),
      ]),
    );
  }

  onApplicationShutdown(): void {
    this.redis.close();
  }
}

async function factsFrom(describe: () => Promise<RedisDescription>): Promise<ServerInfo> {
  const asked = Date.now();
  const { info, time } = await describe();
  const [used, limit] = ['used_memory', 'maxmemory'].map((name) => Number(info.get(name) ?? 0)) as [number, number];
  const settings = {
    maxmemoryPolicy: info.get('maxmemory_policy') ?? '',
    appendOnly: info.get('aof_enabled') === '1' ? 'yes' : 'no',
    ...(limit > 0 ? { memoryPercent: String(Math.min(100, Math.floor((used / limit) * 100))) } : {}),
  };
  return { version: info.get('redis_version') ?? '', skewMs: skewOf(time, asked, Date.now()), settings };
}

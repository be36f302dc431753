import { type Cluster, Redis as Client, type RedisOptions, ReplyError } from 'ioredis';
import type { RedisServers } from '#bootstrap';
import { appError, messageOf, ServerAway } from '#errors';

const CONNECT_TIMEOUT_MS = 2_000;
/** Callers answer within a second, whether Redis refuses, is silent or is not there. */
export const COMMAND_TIMEOUT_MS = 800;
/** How long a connection that is given up may take to close. */
const DISCONNECT_TIMEOUT_MS = 500;
const FIRST_RETRY_MS = 50;
export const LONGEST_RETRY_MS = 2_000;
const KEEP_ALIVE_MS = 10_000;

/** What every connection to a server of Redis has in common. */
export const CONNECTION_OPTIONS = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  commandTimeout: COMMAND_TIMEOUT_MS,
  disconnectTimeout: DISCONNECT_TIMEOUT_MS,
  keepAlive: KEEP_ALIVE_MS,
} satisfies RedisOptions;

/** @returns how long to wait before the next attempt to connect, in milliseconds */
export const retryDelay = (attempt: number): number => Math.min(FIRST_RETRY_MS * attempt, LONGEST_RETRY_MS);

/** What a connection reports. */
export interface ConnectionEvents {
  /** It serves, all of it. */
  connected(): void;
  /** It does not serve any more, or a part of it. */
  lost(): void;
  /** The latest error, which is the reason where the connection is lost. */
  failed(reason: string): void;
}

/** A connection to one server, or to all nodes of a cluster. It connects in the background, again and again. */
export interface Connection {
  /** Takes commands, and sends each to the server of its keys. A command fails at once where that is not connected. */
  readonly commands: Client | Cluster;
  readonly isReady: boolean;
  /** Counts connections, so that a command knows whether its own is still the one in use. */
  readonly generation: number;
  /** The servers that take writes, as far as they are known now. */
  masters(): readonly Client[];
  /** The same and their replicas. */
  servers(): readonly Client[];
  /** @throws Error where a key could not be written now */
  ping(): Promise<void>;
  /** Replaces the connection of that generation, on which an answer did not come in time. */
  giveUp(generation: number): void;
  close(): void;
}

/**
 * Replies that say "not now": loading, a replica, no memory, a disk that is full, a password that does not fit, keys that
 * move to another node of a cluster, and the like.
 */
const TRANSIENT_REPLY =
  /^(?:LOADING|BUSY|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|NOREPLICAS|OOM|MISCONF|NOAUTH|WRONGPASS|NOPERM)\b/;

/** Of these, the replies of a server that starts or is replaced: over without an operator. */
const AWAY_REPLY = /^(?:LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN)\b/;

/**
 * A failed command as an error of ours. Whatever is no reply of Redis is a failure to reach it: SERVICE_UNAVAILABLE. Other
 * replies are mistakes of ours and stay as they are.
 */
export function translateRedisError(error: unknown): unknown {
  const message = messageOf(error);
  if (isReply(error) && !TRANSIENT_REPLY.test(message)) return error;
  const isAway = !isReply(error) || AWAY_REPLY.test(message);
  const reason = `Redis: ${message}`;
  return appError('SERVICE_UNAVAILABLE', { cause: isAway ? new ServerAway(reason) : new Error(reason) });
}

/** Whether Redis does not know the script, because it was started anew or flushed. */
export function isUnknownScript(error: unknown): boolean {
  return isReply(error) && messageOf(error).startsWith('NOSCRIPT');
}

function isReply(error: unknown): boolean {
  return error instanceof (ReplyError as new () => Error);
}

type SingleServer = Exclude<RedisServers, { kind: 'cluster' }>;

/** The connection to one server: the one that the URL names, or the master that Sentinels name each time it connects. */
export class SingleConnection implements Connection {
  readonly commands: Client;
  #generation = 0;

  constructor(
    server: SingleServer,
    connectionName: string,
    private readonly events: ConnectionEvents,
  ) {
    const options: RedisOptions = {
      ...CONNECTION_OPTIONS,
      connectionName,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      retryStrategy: retryDelay,
      // After a failover the old master only reads: the address, or the Sentinels, may lead to the new one by now.
      reconnectOnError: ({ message }) => message.startsWith('READONLY'),
    };
    this.commands =
      server.kind === 'server'
        ? new Client(server.url, options)
        : new Client({ ...options, ...sentinelOptions(server) });
    this.commands.on('ready', () => {
      this.#generation += 1;
      events.connected();
    });
    this.commands.on('error', (error: Error) => {
      events.failed(error.message);
    });
    this.commands.on('close', () => {
      events.lost();
    });
  }

  get isReady(): boolean {
    return this.commands.status === 'ready';
  }

  get generation(): number {
    return this.#generation;
  }

  masters(): readonly Client[] {
    return [this.commands];
  }

  servers(): readonly Client[] {
    return this.masters();
  }

  async ping(): Promise<void> {
    await this.commands.ping();
  }

  giveUp(generation: number): void {
    if (generation !== this.#generation) return;
    this.#generation += 1;
    this.events.failed('no answer');
    this.commands.disconnect(true);
  }

  close(): void {
    this.commands.disconnect();
  }
}

function sentinelOptions(server: Extract<SingleServer, { kind: 'sentinel' }>): RedisOptions {
  const { username: sentinelUsername, password: sentinelPassword } = server.sentinelLogin;
  return {
    ...server.login,
    ...(sentinelUsername === undefined ? {} : { sentinelUsername }),
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    ...(server.isEncrypted ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
    sentinels: [...server.sentinels],
    name: server.masterName,
    db: server.database,
    // The Sentinels' word ends the connection to a master that they have replaced, though it still answers.
    failoverDetector: true,
    sentinelCommandTimeout: COMMAND_TIMEOUT_MS,
    sentinelRetryStrategy: retryDelay,
    sentinelReconnectStrategy: retryDelay,
  };
}

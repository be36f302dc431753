import { setImmediate } from 'node:timers/promises';
import { type Cluster, Redis as Client, type RedisOptions, ReplyError } from 'ioredis';
import type { RedisServers } from '#bootstrap';
import { appError, messageOf, ServerAway } from '#errors';

const CONNECT_TIMEOUT_MS = 2_000;
/** Callers respond within a second, even where Redis refuses, is silent or is unreachable. */
export const COMMAND_TIMEOUT_MS = 800;
const DISCONNECT_TIMEOUT_MS = 500;
const FIRST_RETRY_MS = 50;
export const LONGEST_RETRY_MS = 2_000;
const KEEP_ALIVE_MS = 10_000;

export const CONNECTION_OPTIONS = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  commandTimeout: COMMAND_TIMEOUT_MS,
  disconnectTimeout: DISCONNECT_TIMEOUT_MS,
  keepAlive: KEEP_ALIVE_MS,
} satisfies RedisOptions;

export const retryDelay = (attempt: number): number => Math.min(FIRST_RETRY_MS * attempt, LONGEST_RETRY_MS);

export interface ConnectionEvents {
  connected(): void;
  lost(): void;
  /** The latest error: the reason where the connection is lost. */
  failed(reason: string): void;
}

export interface ConnectionState {
  readonly generation: number;
  readonly bytesRead: number;
}

/** A connection to one server, or to all nodes of a cluster. It connects in the background and reconnects by itself. */
export interface Connection {
  /** Executes commands, each on the server of its keys. A command fails at once where that server is not connected. */
  readonly commands: Client | Cluster;
  readonly isReady: boolean;
  readonly state: ConnectionState;
  masters(): readonly Client[];
  servers(): readonly Client[];
  /** A server that refuses writes still answers PING, so this deletes keys that never exist. @throws Error where a write would fail now */
  ping(key: string): Promise<void>;
  /** Replaces the connection on which a command timed out, if nothing was received since the command was sent. */
  giveUp(since: ConnectionState): Promise<void>;
  close(): void;
}

/** Codes of error replies of a server that starts or is being replaced: they end without an operator. */
const AWAY = ['LOADING', 'READONLY', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN'];
const AWAY_CODES: ReadonlySet<string | undefined> = new Set(AWAY);

/** Also those for other temporary conditions: no memory, a full disk, a wrong password, keys that move to another node, and the like. */
const REFUSED = ['BUSY', 'MOVED', 'ASK', 'NOREPLICAS', 'OOM', 'MISCONF', 'NOAUTH', 'WRONGPASS', 'NOPERM'];
const TRANSIENT_CODES: ReadonlySet<string | undefined> = new Set([...AWAY, ...REFUSED]);

/** Redis 5 and 6 put this prefix before the error of a command that a script calls. */
const SCRIPT_PREFIX = /^ERR Error running script \(call to \w+\): (?:@user_script: ?\d+: )+-?/;

/** The code of an error reply, also where a script has received it; undefined where there is none. */
export function codeOf(message: string): string | undefined {
  return /^[A-Z]+\b/.exec(message.replace(SCRIPT_PREFIX, ''))?.[0];
}

/**
 * An error without a reply of Redis means that it is unreachable: SERVICE_UNAVAILABLE. Other error replies indicate a programming error
 * and stay unchanged, without the arguments of their command, which logs must not show.
 */
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

type SingleServer = Exclude<RedisServers, { kind: 'cluster' }>;

/** The connection to one server: the server of the URL, or the master that the Sentinels name at each connect. */
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
      // After a failover the old master is read-only, and the address or the Sentinels may already lead to the new one.
      reconnectOnError: ({ message }) => codeOf(message) === 'READONLY',
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

  get state(): ConnectionState {
    // Not yet there before the first connect.
    const stream = this.commands.stream as Client['stream'] | undefined;
    return { generation: this.#generation, bytesRead: stream?.bytesRead ?? 0 };
  }

  masters(): readonly Client[] {
    return [this.commands];
  }

  servers(): readonly Client[] {
    return this.masters();
  }

  async ping(key: string): Promise<void> {
    await this.commands.del(key);
  }

  /** After a busy moment of the process, the timer of a command runs before what has arrived is read: the decision waits for that. */
  async giveUp(since: ConnectionState): Promise<void> {
    await setImmediate();
    const { generation, bytesRead } = this.state;
    if (since.generation !== generation || bytesRead > since.bytesRead) return;
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
    // On a failover message of the Sentinels, the connection to the old master ends, even where the old master still replies.
    failoverDetector: true,
    sentinelCommandTimeout: COMMAND_TIMEOUT_MS,
    sentinelRetryStrategy: retryDelay,
    sentinelReconnectStrategy: retryDelay,
  };
}

import { setImmediate as nextTurn } from 'node:timers/promises';
import { Cluster, Redis as Client, type RedisOptions } from 'ioredis';
import type { RedisServers } from '#bootstrap';
import { messageOf } from '#errors';

const CONNECT_TIMEOUT_MS = 2_000;
/** Callers respond within a second, even where Redis refuses, is silent or is unreachable. */
const COMMAND_TIMEOUT_MS = 800;
const LEAST_SILENCE_MS = 400;
const DISCONNECT_TIMEOUT_MS = 500;
const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;
const KEEP_ALIVE_MS = 10_000;

const CONNECTION_OPTIONS = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  commandTimeout: COMMAND_TIMEOUT_MS,
  disconnectTimeout: DISCONNECT_TIMEOUT_MS,
  keepAlive: KEEP_ALIVE_MS,
} satisfies RedisOptions;

const retryDelay = (attempt: number): number => Math.min(FIRST_RETRY_MS * attempt, LONGEST_RETRY_MS);

export interface ConnectionEvents {
  connected(): void;
  lost(): void;
  /** The latest error: the reason where the connection is lost. */
  failed(reason: string): void;
}

interface ConnectionState {
  readonly generation: number;
  readonly bytesRead: number;
  readonly atMs: number;
}

/** A connection to one server, or to all nodes of a cluster. It connects in the background and reconnects by itself. */
export interface Connection {
  /** Executes commands, each on the server of its keys. A command fails at once where that server is not connected. */
  readonly commands: Client | Cluster;
  readonly isReady: boolean;
  readonly state: ConnectionState;
  masters(): readonly Client[];
  servers(): readonly Client[];
  /** Deletes keys that never exist: a server that refuses writes still answers PING. It resolves where only the memory is full. */
  ping(key: string): Promise<void>;
  /** Replaces the connection on which a command timed out, if the command was sent and nothing was received since. */
  giveUp(since: SharedWrite): Promise<void>;
  close(): void;
}

/** Redis 5 and 6 put this prefix before the error of a command that a script calls. */
const SCRIPT_PREFIX = /^ERR Error running script \(call to \w+\): (?:@user_script: ?\d+: )+-?/;

/** The code of an error reply, also where a script has received it; undefined where there is none. */
export function codeOf(message: string): string | undefined {
  return /^[A-Z]+\b/.exec(message.replace(SCRIPT_PREFIX, ''))?.[0];
}

/** Commands that are sent together, and the state of the connection since then. */
export interface SharedWrite {
  sent?: ConnectionState;
}

/** The commands until the next turn of the event loop share a write to each server. */
export function gatherWrites(connection: Connection): SharedWrite {
  const write: SharedWrite = {};
  const clients: readonly { readonly stream?: Client['stream'] }[] = connection.masters();
  for (const { stream } of clients) stream?.cork();
  setImmediate(() => {
    write.sent = connection.state;
    for (const { stream } of clients) stream?.uncork();
  });
  return write;
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
    this.commands.on('error', (error: Error & { readonly command?: { readonly name: string } }) => {
      if (error.message.startsWith("Stream isn't writeable")) return;
      events.failed(error.message);
      // ioredis would continue in database 0.
      if (error.command?.name === 'select') this.commands.disconnect(true);
      // Where no Sentinel names a master, there is no connection that could close.
      if (this.commands.status === 'connecting') events.lost();
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
    return { generation: this.#generation, bytesRead: stream?.bytesRead ?? 0, atMs: performance.now() };
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

  /** After a busy moment of the process, the timer of a command runs before the reply is read, or soon after the command was sent. */
  async giveUp({ sent }: SharedWrite): Promise<void> {
    const silentMs = performance.now() - (sent?.atMs ?? 0);
    await nextTurn();
    const { generation, bytesRead } = this.state;
    if (sent?.generation !== generation || bytesRead > sent.bytesRead || silentMs < LEAST_SILENCE_MS) return;
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

const SLOTS = 16_384;
/** Maximum number of keys that are tried for one in a slot of a master. */
const MAX_PROBES = 256;
/** Codes of replies about a key in a slot of another master. */
const ELSEWHERE: ReadonlySet<string | undefined> = new Set(['MOVED', 'ASK', 'TRYAGAIN']);

/** The connections to the masters of a cluster, one each. Reads go to the masters, never to replicas. */
export class ClusterConnection implements Connection {
  readonly commands: Cluster;
  readonly state = { generation: 0, bytesRead: 0, atMs: 0 };
  #masters: readonly Client[] = [];
  readonly #probes = new WeakMap<Client, number>();

  constructor(
    { nodes, login, isEncrypted }: Extract<RedisServers, { kind: 'cluster' }>,
    connectionName: string,
    private readonly events: ConnectionEvents,
  ) {
    this.commands = new Cluster([...nodes], {
      enableOfflineQueue: false,
      scaleReads: 'master',
      clusterRetryStrategy: retryDelay,
      // A failed command is not repeated: its caller decides. A redirection does not count as a repetition.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      slotsRefreshTimeout: COMMAND_TIMEOUT_MS,
      slotsRefreshInterval: LONGEST_RETRY_MS,
      // Host names are not resolved here: TLS certificates are issued for them, and their addresses may change.
      dnsLookup: (name, callback) => {
        callback(null, name);
      },
      redisOptions: {
        ...CONNECTION_OPTIONS,
        ...login,
        ...(isEncrypted ? { tls: {} } : {}),
        connectionName,
        // A connection that stays silent is replaced, so that later commands do not wait for it.
        socketTimeout: COMMAND_TIMEOUT_MS,
      },
    });
    for (const event of ['ready', 'refresh']) this.commands.on(event, this.#learn);
    this.commands.on('node error', (error: Error, address: string) => {
      events.failed(`${address}: ${error.message}`);
    });
    this.commands.on('error', (error: Error & { lastNodeError?: unknown }) => {
      events.failed(messageOf(error.lastNodeError ?? error));
    });
    this.commands.on('close', () => {
      events.lost();
    });
  }

  get isReady(): boolean {
    const isKnown = this.commands.status === 'ready' && this.#masters.length > 0;
    return isKnown && this.#masters.every(({ status }) => status === 'ready');
  }

  masters(): readonly Client[] {
    return this.commands.nodes('master');
  }

  servers(): readonly Client[] {
    return this.commands.nodes();
  }

  /** Resolves where every master accepts writes and reports that all slots are served. */
  async ping(key: string): Promise<void> {
    if (this.#masters.length === 0) throw new Error('no node of the cluster is connected');
    const answers = await Promise.all(this.#masters.map((master) => master.cluster('INFO')));
    for (const answer of answers) {
      const [, state = ''] = /^cluster_state:(\w+)/m.exec(answer) ?? [];
      const [, served = ''] = /^cluster_slots_ok:(\d+)/m.exec(answer) ?? [];
      if (state !== 'ok' || Number(served) < SLOTS)
        throw new Error(`the state of the cluster is "${state}", and ${served} of its ${SLOTS} slots are served`);
    }
    await Promise.all(this.#masters.map((master) => this.#probe(master, key)));
  }

  /** A master without a slot for one of the keys counts as one that accepts writes. */
  async #probe(master: Client, key: string): Promise<void> {
    for (let number = this.#probes.get(master) ?? 0; number < MAX_PROBES; number += 1) {
      this.#probes.set(master, number);
      if (await isDeleted(master, `${key}:${number}`)) return;
    }
    this.#probes.delete(master);
  }

  giveUp(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.commands.disconnect();
  }

  /** Connects to new masters at once. With a lazy connection, commands that arrive during the connect would fail. */
  readonly #learn = (): void => {
    if (this.commands.status !== 'ready') return;
    const before = this.#masters;
    this.#masters = this.commands.nodes('master');
    for (const master of this.#masters) if (!before.includes(master)) this.#watch(master);
    if (this.isReady) this.events.connected();
  };

  #watch(master: Client): void {
    master.on('ready', () => {
      if (this.isReady) this.events.connected();
    });
    master.on('end', () => {
      if (this.#masters.includes(master)) this.events.lost();
    });
    if (master.status === 'wait') master.connect().catch(() => undefined);
  }
}

/** @returns false where the key is in a slot of another master. @throws Error where the master refuses writes */
async function isDeleted(master: Client, key: string): Promise<boolean> {
  try {
    await master.del(key);
    return true;
  } catch (error) {
    if (ELSEWHERE.has(codeOf(messageOf(error)))) return false;
    throw error;
  }
}

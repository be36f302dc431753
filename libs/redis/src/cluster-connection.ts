import { Cluster, type Redis as Client } from 'ioredis';
import type { RedisServers } from '#bootstrap';
import { messageOf } from '#errors';
import {
  codeOf,
  COMMAND_TIMEOUT_MS,
  type Connection,
  CONNECTION_OPTIONS,
  type ConnectionEvents,
  LONGEST_RETRY_MS,
  retryDelay,
} from './single-connection.js';

const SLOTS = 16_384;
/** Maximum number of keys that are tried for one in a slot of a master. */
const MAX_PROBES = 256;
/** Codes of replies about a key in a slot of another master. */
const ELSEWHERE: ReadonlySet<string | undefined> = new Set(['MOVED', 'ASK', 'TRYAGAIN']);

/** The connections to the masters of a cluster, one each. Reads go to the masters, never to replicas. */
export class ClusterConnection implements Connection {
  readonly commands: Cluster;
  readonly state = { generation: 0, bytesRead: 0 };
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
    for (const event of ['ready', 'refresh']) this.commands.on(event, () => this.#learn());
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
  #learn(): void {
    if (this.commands.status !== 'ready') return;
    const before = this.#masters;
    this.#masters = this.commands.nodes('master');
    for (const master of this.#masters) if (!before.includes(master)) this.#watch(master);
    if (this.isReady) this.events.connected();
  }

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

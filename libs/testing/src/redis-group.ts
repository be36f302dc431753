import { randomBytes } from 'node:crypto';
import { Redis as Client } from 'ioredis';
import { eventually } from './eventually.js';
import { TestProcess } from './test-process.js';

const START_MS = 60_000;
const SLOTS = 16_384;
/** After so long a server that does not answer is taken for dead. */
const NODE_TIMEOUT_MS = 1_000;
/** After so long the Sentinels give up a failover; after twice as long they begin another one. */
const FAILOVER_MS = 3_000;
const MASTER_NAME = 'gatepost';

/** A server of a group, and its client for the test's own look at it. */
interface Member {
  readonly process: TestProcess;
  readonly url: URL;
  readonly client: Client;
}

/** Servers of Redis of a test's own that work together: a cluster, or a master with a replica and three Sentinels. */
export class RedisGroup {
  private constructor(
    /** As REDIS_URL has it. */
    readonly url: string,
    /** Masters first, then replicas. */
    private readonly members: readonly Member[],
    private readonly sentinels: readonly Member[] = [],
  ) {}

  /** A cluster of three masters, each with a third of the slots; the replica is that of the first. */
  static async cluster({ hasReplica = false } = {}): Promise<RedisGroup> {
    const password = randomBytes(12).toString('hex');
    const settings = [
      'cluster-enabled yes',
      `cluster-node-timeout ${NODE_TIMEOUT_MS}`,
      'cluster-replica-validity-factor 0',
      `requirepass ${password}`,
      `masterauth ${password}`,
    ];
    const members = await startAll(Array.from({ length: hasReplica ? 4 : 3 }, () => ['redis', ...settings]));
    const [first, second, third, replica] = members as [Member, Member, Member, Member | undefined];
    const masters = [first, second, third];
    const bounds = masters.map((_, place) => Math.floor((place * SLOTS) / masters.length));
    for (const [place, { client }] of masters.entries())
      await client.cluster('ADDSLOTSRANGE', bounds[place] ?? 0, (bounds[place + 1] ?? SLOTS) - 1);
    for (const { url } of members.slice(1)) await first.client.cluster('MEET', url.hostname, Number(url.port));
    const hosts = masters.map(({ url }) => url.host).join(',');
    const group = new RedisGroup(`redis+cluster://:${password}@${hosts}`, members);
    if (replica !== undefined) await group.#replicate(first, replica);
    await group.untilWhole();
    return group;
  }

  /** A master, its replica, and three Sentinels with a password of their own. */
  static async watched(): Promise<RedisGroup> {
    const password = randomBytes(12).toString('hex');
    const shared = [`requirepass ${password}`, `masterauth ${password}`];
    const [master] = (await startAll([['redis', ...shared]])) as [Member];
    const address = `${master.url.hostname} ${master.url.port}`;
    const [replica] = (await startAll([['redis', ...shared, `replicaof ${address}`]])) as [Member];
    const sentinel = [
      `requirepass ${password}s`,
      `sentinel sentinel-pass ${password}s`,
      `sentinel monitor ${MASTER_NAME} ${address} 2`,
      `sentinel auth-pass ${MASTER_NAME} ${password}`,
      `sentinel down-after-milliseconds ${MASTER_NAME} ${NODE_TIMEOUT_MS}`,
      `sentinel failover-timeout ${MASTER_NAME} ${FAILOVER_MS}`,
    ];
    const sentinels = await startAll(Array.from({ length: 3 }, () => ['sentinel', ...sentinel]));
    const hosts = sentinels.map(({ url }) => url.host).join(',');
    const url = `redis+sentinel://:${password}@${hosts}/${MASTER_NAME}?sentinel_password=${password}s`;
    const group = new RedisGroup(url, [master, replica], sentinels);
    await eventually(async () => {
      for (const { client } of sentinels) {
        const [fields] = (await client.call('SENTINEL', 'MASTERS')) as string[][];
        const value = (name: string) => fields?.[fields.indexOf(name) + 1];
        if (value('num-slaves') !== '1' || value('num-other-sentinels') !== '2')
          throw new Error('the Sentinels do not know one another and the replica yet');
      }
    }, START_MS);
    return group;
  }

  /** The test's own clients of all servers that hold data. */
  get clients(): readonly Client[] {
    return this.members.map(({ client }) => client);
  }

  /** The addresses of all servers that hold data. */
  get addresses(): readonly string[] {
    return this.members.map(({ url }) => url.host);
  }

  /** The names of all keys that match, on all masters. */
  async keys(pattern: string): Promise<string[]> {
    const found = await Promise.all(this.members.map(({ client }) => client.keys(pattern)));
    return [...new Set(found.flat())];
  }

  /** Ends a server as a crash does. @returns what starts it again on what it has on its disk */
  crash(place: number): () => Promise<void> {
    const { process } = this.members[place]!;
    process.signal('SIGUSR2');
    return async () => {
      const before = process.stdout;
      process.signal('SIGHUP');
      await eventually(() => {
        if (process.stdout === before) throw new Error(`the server does not answer: ${process.stderr}`);
      }, START_MS);
    };
  }

  /** Lets the Sentinels make the replica the master, though the master answers. @throws Error while they are at it */
  async failOver(): Promise<void> {
    await this.sentinels[0]?.client.call('SENTINEL', 'FAILOVER', MASTER_NAME);
  }

  /** Begins to move the slot of a key between two masters. @returns what ends it, as if no key had moved */
  async moveSlot(key: string): Promise<() => Promise<void>> {
    const masters = this.members.slice(0, 3).map(({ client }) => client);
    const slot = Number(await masters[0]!.call('CLUSTER', 'KEYSLOT', key));
    const from = Math.ceil(((slot + 1) * masters.length) / SLOTS) - 1;
    const [source, target] = [masters[from]!, masters[(from + 1) % masters.length]!];
    await target.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', await source.cluster('MYID'));
    await source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', await target.cluster('MYID'));
    return async () => {
      for (const master of [source, target]) await master.call('CLUSTER', 'SETSLOT', slot, 'STABLE');
    };
  }

  /** Waits until all nodes that answer know that all slots are served. */
  async untilWhole(): Promise<void> {
    await eventually(async () => {
      for (const { client } of this.members) {
        if (client.status !== 'ready') continue;
        const info = await client.cluster('INFO');
        if (!info.includes('cluster_state:ok') || !info.includes(`cluster_known_nodes:${this.members.length}`))
          throw new Error('the cluster is not whole yet');
      }
    }, START_MS);
  }

  async stop(): Promise<void> {
    const all = [...this.members, ...this.sentinels];
    for (const { client } of all) client.disconnect();
    await Promise.all(all.map(({ process }) => process.stop()));
  }

  async #replicate(master: Member, replica: Member): Promise<void> {
    const id = await master.client.cluster('MYID');
    // The replica learns of its master by gossip.
    await eventually(() => replica.client.cluster('REPLICATE', id), START_MS);
    await eventually(async () => {
      if (!(await replica.client.info('replication')).includes('master_link_status:up'))
        throw new Error('the replica is not in step yet');
    }, START_MS);
  }
}

function startAll(servers: readonly (readonly string[])[]): Promise<Member[]> {
  return Promise.all(
    servers.map(async (args) => {
      const process = TestProcess.start('tools/test/private-server.mjs', args, {});
      const [printed] = await process.untilPrinted(/\S+:\/\/\S+/, START_MS);
      const client = new Client(printed, { enableOfflineQueue: false, lazyConnect: true });
      client.on('error', () => undefined);
      await client.connect();
      return { process, url: new URL(printed), client };
    }),
  );
}

import { chunksOf, groupedBy } from '#bootstrap';
import type { PushMessage } from '#contracts';
import type { Redis, RedisScript } from '#redis';
import {
  type Acknowledgement,
  type ConnectedDevice,
  type ConnectOutcome,
  type DeviceAddress,
  type DevicePresence,
  type DeviceQueueLimits,
  type DeviceQueues,
  type DeviceState,
  type EnqueueBatch,
  type EnqueuedDevice,
  type MessageId,
  type MessageRef,
  partitionOf,
  PARTITIONS,
  type PresencePage,
  type PresencePlace,
  type QueuePage,
  type QueueStatistics,
  type Reassertion,
  type SessionRef,
} from './device-queues.js';
import { RedisPushStatistics } from './redis-push-statistics.store.js';
import {
  ACKNOWLEDGE,
  ALL_PARTITIONS,
  CLEAR,
  DESCRIBE,
  DISCARD,
  ENQUEUE,
  GET_MESSAGE,
  PEEK,
  PUT_MESSAGE,
  REPORT_DROPPED,
  runInPartition,
} from './redis-queue-scripts.store.js';
import {
  CONNECT,
  COUNT_CONNECTED,
  countAllConnected,
  DISCONNECT,
  endSessionsIn,
  LIST_CONNECTED,
  REASSERT,
} from './redis-sessions.store.js';

/** Devices per script: it blocks Redis for a few milliseconds. */
const SCRIPT_DEVICES = 500;
/** As long as notifications: the dispatchers that copy the statistics may be down. */
const STATISTICS_KEPT_MS = 7 * 24 * 60 * 60 * 1_000;

type PageReply = [hasMore: number, dropped: number, droppedUpTo: number, members: string[]];

type ConnectReply = [node: string | null, session: string | null, conflicts: number, page: PageReply];

export class RedisDeviceQueues implements DeviceQueues {
  readonly shards = PARTITIONS;
  readonly shardOf = partitionOf;
  readonly #statistics: RedisPushStatistics;

  constructor(
    private readonly redis: Redis,
    private readonly limits: DeviceQueueLimits,
  ) {
    this.#statistics = new RedisPushStatistics(redis);
  }

  async enqueue({ message, partition, devices }: EnqueueBatch): Promise<ConnectedDevice[]> {
    if (devices.length === 0) return [];
    await this.redis.run(PUT_MESSAGE, [messageKey(message.id)], [JSON.stringify(message), message.expiresAt]);
    const { appId, id, order, expiresAt } = message;
    const push = [appId, id, order, expiresAt, this.limits.queueLimit, STATISTICS_KEPT_MS];
    const connected: ConnectedDevice[] = [];
    // In sequence, because each script moves the mark.
    for (const some of chunksOf(devices, SCRIPT_DEVICES)) {
      const values = some.flatMap(({ installationId, platform, position }) => [installationId, platform, position]);
      connected.push(...connectedFrom(await this.#run(ENQUEUE, partition, [...push, ...values]), some));
    }
    return connected;
  }

  async connect(device: DeviceAddress, { node, session }: SessionRef, limit: number): Promise<ConnectOutcome> {
    const values = [device.appId, device.installationId, node, session, limit, this.limits.conflictMs];
    return outcomeFrom(await this.#run<ConnectReply>(CONNECT, partitionOf(device), values));
  }

  async reassert(sessions: readonly DevicePresence[], isAfterLoss: boolean): Promise<Reassertion> {
    const found = await this.#runForEach(sessions, async (partition, some) => {
      const values = [isAfterLoss ? 1 : 0, ...some.flatMap(sessionValues)];
      const lists = await this.#run<[elsewhere: number[], restored: number[]]>(REASSERT, partition, values);
      return lists.map((places) => places.flatMap((place) => some[place]?.device ?? []));
    });
    const [elsewhere, restored] = [0, 1].map((list) => found.flatMap((lists) => lists[list] ?? []));
    return { elsewhere: elsewhere ?? [], restored: restored ?? [] };
  }

  async disconnect(sessions: readonly DevicePresence[]): Promise<void> {
    await this.#runForEach(sessions, (partition, some) =>
      this.#run(DISCONNECT, partition, some.flatMap(sessionValues)),
    );
  }

  async peek(device: DeviceAddress, limit: number): Promise<QueuePage> {
    const values = [device.appId, device.installationId, limit];
    return pageFrom(await this.#run<PageReply>(PEEK, partitionOf(device), values));
  }

  async acknowledge(acknowledgements: readonly Acknowledgement[]): Promise<void> {
    await this.#runForEach(acknowledgements, (partition, some) =>
      this.#run(ACKNOWLEDGE, partition, acknowledgementValues(some)),
    );
    await this.#runForEach(
      acknowledgements.filter(({ reportedUpTo }) => reportedUpTo > 0),
      (partition, some) =>
        this.#run(
          REPORT_DROPPED,
          partition,
          some.flatMap(({ device, reportedUpTo }) => [device.appId, device.installationId, reportedUpTo]),
        ),
    );
  }

  async discard(device: DeviceAddress, refs: readonly MessageRef[]): Promise<void> {
    const values = [device.appId, device.installationId, ...refs.map(memberOf)];
    await this.#run(DISCARD, partitionOf(device), values);
  }

  messages(ids: readonly string[]): Promise<PushMessage | undefined>[] {
    return ids.map(async (id) => {
      const text = await this.redis.run<string | null>(GET_MESSAGE, [messageKey(id)], []);
      return text === null ? undefined : (JSON.parse(text) as PushMessage);
    });
  }

  async clear(devices: readonly DeviceAddress[]): Promise<void> {
    await this.#runForEach(devices, (partition, some) =>
      this.#run(
        CLEAR,
        partition,
        some.flatMap(({ appId, installationId }) => [appId, installationId]),
      ),
    );
  }

  statistics(pushes: readonly MessageId[]): Promise<ReadonlyMap<string, QueueStatistics>[]> {
    return this.#statistics.exact(pushes);
  }

  recentStatistics(pushes: readonly MessageId[]): Promise<ReadonlyMap<string, QueueStatistics>[]> {
    return this.#statistics.recent(pushes);
  }

  addUpStatistics(): Promise<boolean> {
    return this.#statistics.addUp();
  }

  forget(push: MessageId): Promise<void> {
    return this.#statistics.forget(push);
  }

  async countConnected(appId: string): Promise<number> {
    const counts = await this.#runInAll<number>(COUNT_CONNECTED, [appId]);
    return counts.reduce((sum, count) => sum + count, 0);
  }

  countAllConnected(): Promise<ReadonlyMap<string, number>> {
    return countAllConnected((script) => this.#runInAll(script, []));
  }

  async listConnected(appId: string, after: PresencePlace | undefined, limit: number): Promise<PresencePage> {
    const sessions: DevicePresence[] = [];
    let { partition, cursor } = after ?? { partition: 0, cursor: '0' };
    while (sessions.length < limit) {
      const [next = '0', ...values] = await this.#run<string[]>(LIST_CONNECTED, partition, [appId, cursor, limit]);
      for (const [installationId = '', node = '', session = ''] of chunksOf(values, 3))
        sessions.push({ device: { appId, installationId }, session: { node, session } });
      cursor = next;
      if (cursor !== '0') continue;
      partition += 1;
      if (partition === PARTITIONS) return { sessions, next: undefined };
    }
    return { sessions, next: { partition, cursor } };
  }

  async describe(devices: readonly DeviceAddress[]): Promise<DeviceState[]> {
    type Reply = [node: string, session: string, waiting: number, dropped: number];
    const states = new Map<DeviceAddress, DeviceState>();
    await this.#runForEach(devices, async (partition, some) => {
      const values = some.map(({ installationId }) => installationId);
      const found = await this.#run<Reply[]>(DESCRIBE, partition, [some[0]?.appId ?? '', ...values]);
      for (const [place, [node, session, waiting, dropped]] of found.entries()) {
        const device = some[place];
        if (device !== undefined)
          states.set(device, { session: node === '' ? undefined : { node, session }, waiting, dropped });
      }
    });
    return devices.map((device) => states.get(device) ?? { session: undefined, waiting: 0, dropped: 0 });
  }

  async endSessionsOf(nodes: readonly string[]): Promise<void> {
    if (nodes.length === 0) return;
    for (const partition of ALL_PARTITIONS)
      await endSessionsIn((script, values) => this.#run(script, partition, values), nodes);
  }

  removeExpired(): Promise<boolean> {
    return Promise.resolve(false);
  }

  #run<Reply>(script: RedisScript, partition: number, values: readonly (string | number)[]): Promise<Reply> {
    return runInPartition<Reply>(this.redis, script, partition, values);
  }

  #runInAll<Reply>(script: RedisScript, values: readonly (string | number)[]): Promise<Reply[]> {
    return Promise.all(ALL_PARTITIONS.map((partition) => this.#run<Reply>(script, partition, values)));
  }

  #runForEach<Item extends DeviceAddress | { readonly device: DeviceAddress }, Result>(
    items: readonly Item[],
    run: (partition: number, some: readonly Item[]) => Promise<Result>,
  ): Promise<Result[]> {
    const byPartition = groupedBy(items, (item) => partitionOf('device' in item ? item.device : item));
    const runs = byPartition.flatMap(([partition, all]) =>
      chunksOf(all, SCRIPT_DEVICES).map((some) => run(partition, some)),
    );
    return Promise.all(runs);
  }
}

function connectedFrom(reply: readonly (number | string)[], devices: readonly EnqueuedDevice[]): ConnectedDevice[] {
  const found: ConnectedDevice[] = [];
  for (let index = 0; index < reply.length; index += 2) {
    const device = devices[Number(reply[index]) - 1];
    if (device === undefined) continue;
    const { installationId, platform } = device;
    found.push({ installationId, platform, node: String(reply[index + 1]) });
  }
  return found;
}

function outcomeFrom([node, session, conflicts, page]: ConnectReply): ConnectOutcome {
  const previous = node === null || session === null ? undefined : { node, session };
  return { page: pageFrom(page), previous, conflicts };
}

function pageFrom([hasMore, dropped, droppedUpTo, members]: PageReply): QueuePage {
  return { refs: members.map(refFrom), hasMore: hasMore === 1, dropped, droppedUpTo };
}

function refFrom(member: string): MessageRef {
  const [id = '', expiry = ''] = member.split(' ', 2);
  return { id, platform: member.slice(id.length + expiry.length + 2), expiresAt: Number(expiry) };
}

function memberOf({ id, expiresAt, platform }: MessageRef): string {
  return `${id} ${expiresAt} ${platform}`;
}

function messageKey(id: string): string {
  return `push:message:${id}`;
}

function sessionValues({ device, session }: DevicePresence): string[] {
  return [device.appId, device.installationId, session.node, session.session];
}

/** Application, member and number of devices of each message, then the devices. */
function acknowledgementValues(acknowledgements: readonly Acknowledgement[]): (string | number)[] {
  const byMessage = new Map<string, { readonly head: readonly [string, string]; readonly devices: string[] }>();
  const add = (appId: string, member: string, installationId: string) => {
    const key = `${appId} ${member}`;
    const group = byMessage.get(key);
    if (group === undefined) byMessage.set(key, { head: [appId, member], devices: [installationId] });
    else group.devices.push(installationId);
  };
  for (const { device, refs } of acknowledgements)
    for (const ref of refs) add(device.appId, memberOf(ref), device.installationId);
  return [...byMessage.values()].flatMap(({ head, devices }) => [...head, devices.length, ...devices]);
}

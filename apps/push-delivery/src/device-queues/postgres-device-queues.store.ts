import { ConcurrencyLimiter } from '#bootstrap';
import type { PushMessage } from '#contracts';
import type { Database, Tx } from '#database';
import type {
  Acknowledgement,
  ConnectedDevice,
  ConnectOutcome,
  DeviceAddress,
  DevicePresence,
  DeviceQueueLimits,
  DeviceQueues,
  DeviceState,
  EnqueueBatch,
  EnqueuedDevice,
  MessageId,
  PresencePage,
  PresencePlace,
  QueuePage,
  QueueStatistics,
  Reassertion,
  SessionRef,
} from './device-queues.js';
import * as sql from './queue-statements.js';

/** For the standalone server. Writes run in turn: counts need no locks, and writes cannot deadlock. Sessions are in memory. */
export class PostgresDeviceQueues implements DeviceQueues {
  readonly shards = 1;
  readonly #sessions: Sessions;
  readonly #writes = new ConcurrencyLimiter({ concurrency: 1 });

  constructor(
    private readonly database: Database,
    private readonly limits: DeviceQueueLimits,
  ) {
    this.#sessions = new Sessions(limits.conflictMs);
  }

  shardOf(): number {
    return 0;
  }

  async enqueue(batch: EnqueueBatch): Promise<ConnectedDevice[]> {
    if (batch.devices.length === 0) return [];
    await this.#writes.run(() => this.database.transaction((tx) => this.#enqueue(tx, batch)));
    // After the commit: a device that connects earlier finds the message on its page, one that connects later is found here.
    return this.#connectedOf(batch);
  }

  async connect(device: DeviceAddress, session: SessionRef, limit: number): Promise<ConnectOutcome> {
    const outcome = this.#sessions.connect(device, session, performance.now());
    return { ...outcome, page: await this.peek(device, limit) };
  }

  reassert(sessions: readonly DevicePresence[]): Promise<Reassertion> {
    const found = { elsewhere: [] as DeviceAddress[], restored: [] as DeviceAddress[] };
    for (const presence of sessions) {
      const outcome = this.#sessions.reassert(presence);
      if (outcome !== 'known') found[outcome].push(presence.device);
    }
    return Promise.resolve(found);
  }

  disconnect(sessions: readonly DevicePresence[]): Promise<void> {
    for (const session of sessions) this.#sessions.disconnect(session);
    return Promise.resolve();
  }

  async peek({ appId, installationId }: DeviceAddress, limit: number): Promise<QueuePage> {
    const values = [appId, installationId, limit + 1];
    const [row] = await this.database.query<Omit<QueuePage, 'hasMore'>>(sql.PEEK, values, 'queues.peek');
    const { refs, ...drops } = row ?? { refs: [], dropped: 0, droppedUpTo: 0 };
    return { refs: refs.slice(0, limit), hasMore: refs.length > limit, ...drops };
  }

  async acknowledge(acknowledgements: readonly Acknowledgement[]): Promise<void> {
    const reported = acknowledgements.filter(({ reportedUpTo }) => reportedUpTo > 0);
    const refs = acknowledgements.flatMap(({ device, refs }) => refs.map(({ id }) => ({ device, id })));
    await this.#writes.run(() =>
      this.database.transaction(async (tx) => {
        const ids = refs.map(({ id }) => id);
        await tx.query(sql.ACKNOWLEDGE, [...addressColumns(refs), ids], 'queues.acknowledge');
        if (reported.length === 0) return;
        const positions = reported.map(({ reportedUpTo }) => reportedUpTo);
        await tx.query(sql.REPORT_DROPPED, [...addressColumns(reported), positions], 'queues.reportDropped');
      }),
    );
  }

  /** A page has only messages whose body is in the database. */
  discard(): Promise<void> {
    return Promise.resolve();
  }

  messages(ids: readonly string[]): Promise<PushMessage | undefined>[] {
    const found = this.database.query<PushMessage>(sql.FIND_MESSAGES, [ids], 'queues.findMessages');
    const byId = found.then((messages) => new Map(messages.map((message) => [message.id, message])));
    return ids.map(async (id) => (await byId).get(id));
  }

  async clear(devices: readonly DeviceAddress[]): Promise<void> {
    const columns = addressColumns(devices.map((device) => ({ device })));
    await this.#writes.run(() => this.database.query(sql.CLEAR, columns, 'queues.clear'));
  }

  async statistics(pushes: readonly MessageId[]): Promise<ReadonlyMap<string, QueueStatistics>[]> {
    const columns = [pushes.map(({ appId }) => appId), pushes.map(({ id }) => id)];
    const rows = await this.database.query<QueueStatistics & { place: number; platform: string }>(
      sql.STATISTICS,
      columns,
      'queues.statistics',
    );
    const found = pushes.map(() => new Map<string, QueueStatistics>());
    for (const { place, platform, ...statistics } of rows) found[place - 1]?.set(platform, statistics);
    return found;
  }

  recentStatistics(pushes: readonly MessageId[]): Promise<ReadonlyMap<string, QueueStatistics>[]> {
    return this.statistics(pushes);
  }

  addUpStatistics(): Promise<boolean> {
    return Promise.resolve(false);
  }

  async forget({ appId, id }: MessageId): Promise<void> {
    await this.#writes.run(() => this.database.query(sql.FORGET, [appId, id], 'queues.forget'));
  }

  countConnected(appId: string): Promise<number> {
    return Promise.resolve(this.#sessions.count(appId));
  }

  countAllConnected(): Promise<ReadonlyMap<string, number>> {
    return Promise.resolve(this.#sessions.countAll());
  }

  listConnected(appId: string, after: PresencePlace | undefined, limit: number): Promise<PresencePage> {
    return Promise.resolve(this.#sessions.list(appId, after, limit));
  }

  async describe(devices: readonly DeviceAddress[]): Promise<DeviceState[]> {
    const ids = devices.map(({ installationId }) => installationId);
    const rows = await this.database.query<Omit<DeviceState, 'session'>>(sql.DESCRIBE, [devices[0]?.appId, ids]);
    return rows.map((row, place) => ({ ...row, session: this.#sessions.sessionOf(devices[place]) }));
  }

  endSessionsOf(nodes: readonly string[]): Promise<void> {
    this.#sessions.endSessionsOf(new Set(nodes));
    return Promise.resolve();
  }

  async removeExpired(): Promise<boolean> {
    let isMore = false;
    for (const statement of sql.REMOVE_EXPIRED) {
      const removed = await this.#writes.run(() => this.database.query(statement));
      isMore ||= removed.length === sql.BATCH_SIZE;
    }
    return isMore;
  }

  async #enqueue(tx: Tx, { message, partition, devices }: EnqueueBatch): Promise<void> {
    const { appId, id, order, expiresAt } = message;
    const expiry = new Date(expiresAt);
    const [mark] = await tx.query<{ position: string }>(sql.FIND_MARK, [appId, id, partition], 'queues.findMark');
    const fresh = devices.filter(({ position }) => position > (mark?.position ?? ''));
    const last = fresh.at(-1);
    if (last === undefined) return;
    const body = [order, id, appId, expiry, JSON.stringify(message.bodies), message.body];
    await tx.query(sql.PUT_MESSAGE, body, 'queues.putMessage');
    await tx.query(sql.MOVE_MARK, [appId, id, partition, last.position, expiry], 'queues.moveMark');
    const platforms = fresh.map(({ platform }) => platform);
    await tx.query(sql.COUNT_ENQUEUED, [appId, id, platforms, expiry], 'queues.countEnqueued');
    await tx.query(sql.ENQUEUE, [appId, order, idsOf(fresh), platforms, expiry], 'queues.enqueue');
    await this.#dropOldest(tx, message, fresh);
  }

  /** Expired messages are removed first and do not count as dropped. */
  async #dropOldest(tx: Tx, { appId, expiresAt }: PushMessage, devices: readonly EnqueuedDevice[]): Promise<void> {
    const values = [appId, idsOf(devices), this.limits.queueLimit];
    const full = await tx.query<{ installationId: string }>(sql.FIND_FULL, values, 'queues.findFull');
    if (full.length === 0) return;
    const ids = idsOf(full);
    await tx.query(sql.REMOVE_EXPIRED_OF, [appId, ids], 'queues.removeExpiredOf');
    await tx.query(sql.DROP_OLDEST, [appId, ids, this.limits.queueLimit, new Date(expiresAt)], 'queues.dropOldest');
  }

  async #connectedOf({ message: { appId, order }, devices }: EnqueueBatch): Promise<ConnectedDevice[]> {
    const connected = devices.flatMap(({ installationId, platform }) => {
      const node = this.#sessions.nodeOf({ appId, installationId });
      return node === undefined ? [] : [{ installationId, platform, node }];
    });
    if (connected.length === 0) return [];
    const values = [appId, order, idsOf(connected)];
    const rows = await this.database.query<{ installationId: string }>(sql.FIND_QUEUED, values, 'queues.findQueued');
    const queued = new Set(idsOf(rows));
    return connected.filter(({ installationId }) => queued.has(installationId));
  }
}

function idsOf(devices: readonly { readonly installationId: string }[]): string[] {
  return devices.map(({ installationId }) => installationId);
}

function addressColumns(items: readonly { readonly device: DeviceAddress }[]): [string[], string[]] {
  return [items.map(({ device }) => device.appId), items.map(({ device }) => device.installationId)];
}

interface KnownSession extends SessionRef {
  readonly conflicts: number;
  readonly conflictAtMs: number;
}

class Sessions {
  readonly #byApp = new Map<string, Map<string, KnownSession>>();

  constructor(private readonly conflictMs: number) {}

  connect(device: DeviceAddress, session: SessionRef, nowMs: number): Omit<ConnectOutcome, 'page'> {
    const known = this.#of(device);
    if (known === undefined || isSame(known, session)) {
      this.#set(device, { ...session, conflicts: known?.conflicts ?? 0, conflictAtMs: known?.conflictAtMs ?? 0 });
      return { previous: undefined, conflicts: known?.conflicts ?? 0 };
    }
    const conflicts = known.conflictAtMs + this.conflictMs > nowMs ? known.conflicts + 1 : 1;
    this.#set(device, { ...session, conflicts, conflictAtMs: nowMs });
    return { previous: { node: known.node, session: known.session }, conflicts };
  }

  reassert({ device, session }: DevicePresence): keyof Reassertion | 'known' {
    const known = this.#of(device);
    if (known !== undefined && known.node !== session.node) return 'elsewhere';
    if (known?.session !== session.session) this.#set(device, { ...session, conflicts: 0, conflictAtMs: 0 });
    return known === undefined ? 'restored' : 'known';
  }

  disconnect({ device, session }: DevicePresence): void {
    const known = this.#of(device);
    if (known !== undefined && isSame(known, session)) this.#remove(device);
  }

  nodeOf(device: DeviceAddress): string | undefined {
    return this.#of(device)?.node;
  }

  sessionOf(device: DeviceAddress | undefined): SessionRef | undefined {
    const known = device && this.#of(device);
    return known && { node: known.node, session: known.session };
  }

  /** The cursor is the last installation of the page before. */
  list(appId: string, after: PresencePlace | undefined, limit: number): PresencePage {
    const all = [...(this.#byApp.get(appId) ?? new Map<string, KnownSession>())];
    const behind = all.filter(([installationId]) => after === undefined || installationId > after.cursor);
    behind.sort(([one], [other]) => (one < other ? -1 : 1));
    const sessions = behind.slice(0, limit).map(([installationId, { node, session }]) => ({
      device: { appId, installationId },
      session: { node, session },
    }));
    const last = behind.length > limit ? sessions.at(-1) : undefined;
    return { sessions, next: last && { partition: 0, cursor: last.device.installationId } };
  }

  count(appId: string): number {
    return this.#byApp.get(appId)?.size ?? 0;
  }

  countAll(): ReadonlyMap<string, number> {
    return new Map([...this.#byApp].map(([appId, sessions]) => [appId, sessions.size]));
  }

  endSessionsOf(nodes: ReadonlySet<string>): void {
    for (const [appId, sessions] of this.#byApp) {
      const ended = [...sessions].filter(([, { node }]) => nodes.has(node));
      for (const [installationId] of ended) this.#remove({ appId, installationId });
    }
  }

  #of({ appId, installationId }: DeviceAddress): KnownSession | undefined {
    return this.#byApp.get(appId)?.get(installationId);
  }

  #set({ appId, installationId }: DeviceAddress, session: KnownSession): void {
    const sessions = this.#byApp.get(appId) ?? new Map<string, KnownSession>();
    this.#byApp.set(appId, sessions.set(installationId, session));
  }

  #remove({ appId, installationId }: DeviceAddress): void {
    const sessions = this.#byApp.get(appId);
    sessions?.delete(installationId);
    if (sessions?.size === 0) this.#byApp.delete(appId);
  }
}

function isSame(one: SessionRef, other: SessionRef): boolean {
  return one.node === other.node && one.session === other.session;
}

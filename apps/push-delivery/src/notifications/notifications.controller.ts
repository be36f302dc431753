import { setImmediate } from 'node:timers/promises';
import { Controller, Inject, Logger } from '@nestjs/common';
import { Clock, ConcurrencyLimiter } from '#bootstrap';
import {
  type Caller,
  type DeliveryCounts,
  type JsonObject,
  type ObjectListQuery,
  pushOperationsRpc,
  pushRpc,
  type RpcData,
  type RpcReply,
} from '#contracts';
import { type AppError, appError, messageOf } from '#errors';
import { listReply, type MaybeEncoded, RpcHandler } from '#messaging';
import {
  type CompiledFind,
  compileCount,
  compileFind,
  parseOrder,
  parseWhere,
  pickKeys,
  type QueryScope,
} from '#objects';
import { QueryDatabase } from '#objects/store';
import { DEVICE_QUEUES, type DeviceQueues, PARTITIONS, type QueueStatistics } from '../device-queues/device-queues.js';
import { deliveryCountsOf, withStatistics } from '../dispatch/delivery-counts.rules.js';
import { messageIdOf } from '../dispatch/delivery-statistics.js';
import type { ListedNotification, NotificationRow } from '../pushes/push.row.js';
import { VendorBatchesRepository } from '../vendors/vendor-batches.repository.js';
import { NOTIFICATION_QUERY_CLASS, presentNotification, presentScheduled } from './notification.presenter.js';
import { ConnectedCounts, NotificationsRepository } from './notifications.repository.js';

/** Callers usually look for the pushes that they have just sent. */
const DEFAULT_ORDER = '-createdAt';

/** Lists of at most this many records do not wait. */
const SHORT_LIST = 100;
const ROWS_AT_ONCE = 100;
/** Then the list is refused with SERVICE_UNAVAILABLE, before its caller gives up. */
const LONGEST_WAIT_MS = 3_000;
const LONGEST_PAUSE_MS = 100;

type Push = typeof pushRpc;
type Operations = typeof pushOperationsRpc;
type Data<Name extends keyof Push> = RpcData<Push[Name]>;
type OperatorData<Name extends keyof Operations> = RpcData<Operations[Name]>;
type OperatorReply<Name extends keyof Operations> = Promise<RpcReply<Operations[Name]>>;

@Controller()
export class NotificationsController {
  readonly #logger = new Logger('Pushes');
  readonly #lists = new ConcurrencyLimiter({ concurrency: 1 });

  constructor(
    private readonly notifications: NotificationsRepository,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly database: QueryDatabase,
    private readonly clock: Clock,
    private readonly vendors: VendorBatchesRepository,
    private readonly connected: ConnectedCounts,
  ) {}

  @RpcHandler(pushRpc.getNotification)
  async get({ caller, objectId }: Data<'getNotification'>): Promise<RpcReply<Push['getNotification']>> {
    const { appId, isMaster } = caller;
    const { row, counts } = await this.#counted(appId, objectId);
    const vendors = await this.vendors.countsOf(appId, [objectId]);
    return { notification: presentNotification(row, counts, vendors.get(objectId) ?? {}, { isMaster }) };
  }

  @RpcHandler(pushOperationsRpc.getStatus)
  async getStatus({ appId, objectId }: OperatorData<'getStatus'>): OperatorReply<'getStatus'> {
    const { row, counts } = await this.#counted(appId, objectId);
    const { status, error, flowControl, createdAt, expiresAt, dueAt, updatedAt } = row;
    const progress = await this.notifications.progressOf(appId, objectId);
    const isFound = status === 'done' || status === 'error';
    const searched = status === 'done' ? PARTITIONS : Math.max(0, progress?.partition ?? 0);
    return {
      objectId,
      status,
      error,
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt.toISOString(),
      dueAt: dueAt.toISOString(),
      foundAt: isFound ? updatedAt.toISOString() : null,
      requestId: progress?.requestId ?? null,
      flowControl,
      progress: { partition: searched, of: PARTITIONS },
      platforms: counts,
      vendors: (await this.vendors.countsOf(appId, [objectId])).get(objectId) ?? {},
    };
  }

  @RpcHandler(pushOperationsRpc.countDevices)
  async countDevices({ appId }: OperatorData<'countDevices'>): OperatorReply<'countDevices'> {
    const [counts, connected] = await Promise.all([
      this.notifications.countDevices(appId),
      this.queues.countConnected(appId),
    ]);
    const platforms = Object.fromEntries(counts.map(({ platform, ...count }) => [platform, count]));
    return { platforms, connected };
  }

  @RpcHandler(pushOperationsRpc.countByDay)
  async countByDay({ appId, from }: OperatorData<'countByDay'>): OperatorReply<'countByDay'> {
    return { days: await this.notifications.countByDay(this.database, appId, from) };
  }

  @RpcHandler(pushOperationsRpc.countConnectedByHour)
  async countConnectedByHour({
    appId,
    from,
  }: OperatorData<'countConnectedByHour'>): OperatorReply<'countConnectedByHour'> {
    return { hours: await this.connected.byHour(appId, from) };
  }

  /** @throws AppError FORBIDDEN without the master key; INVALID_QUERY and the other errors of `parseWhere`; QUERY_TIMED_OUT */
  @RpcHandler(pushRpc.findNotifications)
  async find({ caller, ...list }: Data<'findNotifications'>): Promise<MaybeEncoded<Push['findNotifications']>> {
    assertMaster(caller);
    const scope = notificationScope(caller.appId);
    const where = parseWhere(list.where);
    const query = { where, order: parseOrder(list.order ?? DEFAULT_ORDER), limit: list.limit, skip: list.skip };
    const found = compileFind(query, NOTIFICATION_QUERY_CLASS, scope);
    const results = await this.#inTurn(list.limit, () => this.#list(caller.appId, found, list));
    const condition = compileCount(where, NOTIFICATION_QUERY_CLASS, scope);
    const count = list.count ? { count: await this.notifications.count(this.database, condition) } : {};
    return listReply({ results, ...count });
  }

  async #list(appId: string, query: CompiledFind, { limit, keys }: ObjectListQuery): Promise<JsonObject[]> {
    const rows = limit === 0 ? [] : await this.notifications.list(this.database, query);
    const counts = await this.#countsOfAll(rows, (pushes) => this.queues.recentStatistics(pushes));
    const ids = rows.map(({ objectId }) => objectId);
    const vendors = await this.vendors.countsOf(appId, ids);
    const results: JsonObject[] = [];
    for (const [place, row] of rows.entries()) {
      if (place % ROWS_AT_ONCE === 0) await setImmediate();
      const shown = presentNotification(row, counts[place] ?? {}, vendors.get(row.objectId) ?? {}, { isMaster: true });
      results.push(pickKeys(shown, keys));
    }
    return results;
  }

  /** One long list at a time, with pauses between: pushes get at least half of the process's time. */
  #inTurn(limit: number, read: () => Promise<JsonObject[]>): Promise<JsonObject[]> {
    if (limit <= SHORT_LIST) return read();
    const deadlineMs = performance.now() + LONGEST_WAIT_MS;
    const work = async () => {
      const startedAt = performance.now();
      try {
        return await read();
      } finally {
        if (this.#lists.isWaiting) this.#lists.pause(Math.min(performance.now() - startedAt, LONGEST_PAUSE_MS));
      }
    };
    return this.#lists.run(work, { deadlineMs });
  }

  @RpcHandler(pushRpc.removeNotification)
  async remove({ caller, objectId }: Data<'removeNotification'>): Promise<RpcReply<Push['removeNotification']>> {
    assertMaster(caller);
    if (!(await this.notifications.remove(caller.appId, objectId))) throw missing(objectId);
    await this.#deleteStatistics(caller.appId, objectId);
    return {};
  }

  @RpcHandler(pushRpc.findScheduled)
  async findScheduled({ caller, ...page }: Data<'findScheduled'>): Promise<MaybeEncoded<Push['findScheduled']>> {
    assertMaster(caller);
    const rows = await this.notifications.listScheduled(caller.appId, page);
    return listReply({ results: rows.map(presentScheduled) });
  }

  @RpcHandler(pushRpc.getScheduled)
  async getScheduled({ caller, id }: Data<'getScheduled'>): Promise<RpcReply<Push['getScheduled']>> {
    assertMaster(caller);
    const row = await this.notifications.findScheduled(caller.appId, id);
    if (row === undefined) throw noLongerScheduled(id);
    return { push: presentScheduled(row) };
  }

  @RpcHandler(pushRpc.cancelScheduled)
  async cancelScheduled({ caller, id }: Data<'cancelScheduled'>): Promise<RpcReply<Push['cancelScheduled']>> {
    assertMaster(caller);
    if (!(await this.notifications.removeScheduled(caller.appId, id))) throw noLongerScheduled(id);
    return {};
  }

  async #row(appId: string, objectId: string): Promise<NotificationRow> {
    const row = await this.notifications.find(appId, objectId);
    if (row === undefined) throw missing(objectId);
    return row;
  }

  async #counted(
    appId: string,
    objectId: string,
  ): Promise<{ readonly row: NotificationRow; readonly counts: Record<string, DeliveryCounts> }> {
    let row = await this.#row(appId, objectId);
    const [statistics] = hasGrowingCounts(row)
      ? await this.#statisticsOf([row], (all) => this.queues.statistics(all))
      : [];
    // The queues may have deleted theirs since the row was read: then the final counts are in the row.
    if (statistics?.size === 0) row = await this.#row(appId, objectId);
    const counts = withStatistics(row.counts, statistics ?? new Map<string, never>());
    return { row, counts: deliveryCountsOf(counts, { isExpired: row.expiresAt <= this.clock.now() }) };
  }

  async #countsOfAll(
    rows: readonly ListedNotification[],
    read: DeviceQueues['statistics'],
  ): Promise<Record<string, DeliveryCounts>[]> {
    const counted = rows.filter(hasGrowingCounts);
    const statistics = counted.length === 0 ? [] : await this.#statisticsOf(counted, read);
    const found = new Map(counted.map((row, place) => [row, statistics[place]]));
    const now = this.clock.now();
    return rows.map((row) => {
      const counts = withStatistics(row.counts, found.get(row) ?? new Map<string, never>());
      return deliveryCountsOf(counts, { isExpired: row.expiresAt <= now });
    });
  }

  #statisticsOf(
    rows: readonly ListedNotification[],
    read: DeviceQueues['statistics'],
  ): Promise<ReadonlyMap<string, QueueStatistics>[]> {
    return read(rows.map(messageIdOf)).catch((error: unknown) => {
      this.#logger.debug(`the statistics of ${rows.length} pushes: ${messageOf(error)}`);
      return [];
    });
  }

  /** If the queues are unavailable, the statistics stay until they expire. */
  async #deleteStatistics(appId: string, objectId: string): Promise<void> {
    await this.queues.forget({ appId, id: objectId }).catch((error: unknown) => {
      this.#logger.debug(`push ${objectId}: ${messageOf(error)}`);
    });
  }
}

function assertMaster({ isMaster }: Caller): void {
  if (!isMaster) throw appError('FORBIDDEN', { message: 'Only the master key may do this.' });
}

/** A scheduled push is in no queue, and final counts are in the record. */
function hasGrowingCounts({ status, nextStatisticsAt }: ListedNotification): boolean {
  return status === 'in-queue' || nextStatisticsAt !== null;
}

function missing(objectId: string): AppError {
  return appError('NOT_FOUND', { message: `There is no push ${objectId}. Pushes are deleted after a week.` });
}

function noLongerScheduled(id: number): AppError {
  return appError('NOT_FOUND', { message: `There is no scheduled push ${id}. It has begun, or it does not exist.` });
}

function notificationScope(appId: string): QueryScope {
  return {
    appId,
    grantees: 'master',
    classOf: () => {
      throw appError('INVALID_QUERY', { message: 'A query of pushes cannot contain a sub-query of another class.' });
    },
  };
}

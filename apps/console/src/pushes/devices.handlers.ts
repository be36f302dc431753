import { Injectable } from '@nestjs/common';
import { chunksOf } from '#bootstrap';
import { consoleApi, type Device, type RouteQuery } from '#console-api';
import {
  type Caller,
  installationsRpc,
  type JsonObject,
  MAX_DESCRIBED_DEVICES,
  pushOperationsRpc,
  type RpcData,
  type RpcReply,
} from '#contracts';
import { type AppError, appError, isAppError } from '#errors';
import { RpcClient } from '#messaging';
import { Sealer } from '#security';
import { OperatorsRepository } from '../operators/operators.repository.js';
import { type ConsoleRequest, Handles, type ReplyOf, type RequestOf } from '../routing/console-handler.js';
import { cursorOf, openedCursor, pageOf, pagesOf, sealedCursor } from '../routing/list.rules.js';
import { toDeviceDetails, toDevice, UNCHANGEABLE_FIELDS, withIds } from './device.rules.js';
import { conditionAfter, NEWEST_FIRST, placeOf } from './push.rules.js';

type Api = typeof consoleApi;
type OneDevice = ReplyOf<'getDevice'>;
type DeviceFilters = Pick<RouteQuery<Api['listDevices']>, 'channel' | 'deviceType' | 'userId'>;
type ExportedDevice = ReplyOf<'exportDevices'>;
type DeviceRequest = Pick<ConsoleRequest, 'caller'> & { readonly params: { appId: string; deviceId: string } };
type ConnectedPlace = NonNullable<RpcData<typeof pushOperationsRpc.listConnected>['after']>;
type States = ReadonlyMap<string, RpcReply<typeof pushOperationsRpc.describeDevices>['devices'][number]>;

const className = '_Installation';

/** No reply holds an installation id or a token of a device. */
@Injectable()
export class DevicesHandlers {
  constructor(
    private readonly rpc: RpcClient,
    private readonly sealer: Sealer,
    private readonly operators: OperatorsRepository,
  ) {}

  @Handles(consoleApi.listDevices)
  async list({ params, query, caller }: RequestOf<'listDevices'>): Promise<ReplyOf<'listDevices'>> {
    const { after, limit, ...filters } = query;
    const results = await this.#findSome(caller, { ...conditionOf(filters), ...conditionAfter(after) }, limit + 1);
    const states = await this.#statesOf(params.appId, results.slice(0, limit));
    return pageOf(
      results.map((installation) => toDevice(installation, states)),
      limit,
      placeOf,
    );
  }

  @Handles(consoleApi.exportDevices)
  export({ params, query, caller }: RequestOf<'exportDevices'>): AsyncIterable<readonly ExportedDevice[]> {
    const condition = conditionOf(query);
    return pagesOf<ExportedDevice, string>(async (after) => {
      const where = { ...condition, ...conditionAfter(after) };
      const results = await this.#findFitting(caller, where, MAX_DESCRIBED_DEVICES);
      const states = await this.#statesOf(params.appId, results);
      const items = results.map((installation) => toDeviceDetails(installation, states));
      const last = items.at(-1);
      return { items, next: last === undefined ? null : cursorOf(placeOf(last)) };
    });
  }

  /** Omits connected devices without an installation: nothing is known of them. */
  @Handles(consoleApi.listConnectedDevices)
  async listConnected({
    params,
    query,
    caller,
  }: RequestOf<'listConnectedDevices'>): Promise<ReplyOf<'listConnectedDevices'>> {
    const { appId } = params;
    const after = query.after === undefined ? undefined : openedCursor(query.after, this.sealer, contextOf(appId));
    const page = { appId, limit: query.limit, after: after as ConnectedPlace | undefined };
    const { devices, next } = await this.rpc.call(pushOperationsRpc.listConnected, page);
    const items: Device[] = [];
    const ids = devices.map(({ installationId }) => installationId);
    // A page can hold more devices than asked for.
    for (const some of chunksOf(ids, MAX_DESCRIBED_DEVICES)) {
      const where = { installationId: { $in: some } };
      const found = { caller, className, where, ...NEWEST_FIRST, limit: some.length };
      const { results } = await this.rpc.call(installationsRpc.find, found);
      const states = await this.#statesOf(appId, results);
      items.push(...results.map((installation) => toDevice(installation, states)));
    }
    // `next` can be an installation id.
    return { items, next: next === null ? null : sealedCursor(next, this.sealer, contextOf(appId)) };
  }

  @Handles(consoleApi.listTestDevices)
  async listTest(request: RequestOf<'listTestDevices'>): Promise<ReplyOf<'listTestDevices'>> {
    const { appId } = request.params;
    const marked = await this.operators.testDevices(request.operator.id, appId);
    const found = await this.#findMarked(request.caller, marked);
    const states = await this.#statesOf(appId, found);
    const items = found.map((installation) => toDevice(installation, states));
    return { items, missing: marked.length - items.length };
  }

  @Handles(consoleApi.markTestDevice)
  async mark({ caller, operator, params }: RequestOf<'markTestDevice'>): Promise<Record<string, never>> {
    const marked = await this.operators.testDevices(operator.id, params.appId);
    const found = await this.#findMarked(caller, [...marked, params.deviceId]);
    const isMissing = (id: string) => !found.some(({ objectId }) => objectId === id);
    if (isMissing(params.deviceId)) throw notFound();
    const of = { id: operator.id, sessionId: operator.sessionId };
    await this.operators.markTestDevice(of, params, marked.filter(isMissing));
    return {};
  }

  @Handles(consoleApi.unmarkTestDevice)
  async unmark({ operator, params }: RequestOf<'unmarkTestDevice'>): Promise<Record<string, never>> {
    await this.operators.unmarkTestDevice(operator.id, params.appId, params.deviceId);
    return {};
  }

  @Handles(consoleApi.getDevice)
  get(request: RequestOf<'getDevice'>): Promise<OneDevice> {
    return this.#device(request);
  }

  @Handles(consoleApi.changeDevice)
  async change(request: RequestOf<'changeDevice'>): Promise<OneDevice> {
    const { caller, params, body } = request;
    // A key can be a path, such as `webPush.endpoint`.
    const changed = new Set(Object.keys(body.changes).map((key) => key.split('.', 1)[0]));
    const name = UNCHANGEABLE_FIELDS.find((each) => changed.has(each));
    if (name !== undefined) throw appError('INCORRECT_TYPE', { message: `${name}: cannot be changed here.` });
    const stored = await this.#find(request);
    const before = Object.keys(body.changes).map((each) => [each, stored[each] ?? null]);
    request.act = { before: Object.fromEntries(before) as JsonObject };
    const changes = body.changes as JsonObject;
    const update = { caller, className, objectId: params.deviceId, changes, returnNew: false };
    await this.rpc.call(installationsRpc.update, update);
    return this.#device(request);
  }

  @Handles(consoleApi.deleteDevices)
  async delete(request: RequestOf<'deleteDevices'>): Promise<ReplyOf<'deleteDevices'>> {
    const objectIds = [...new Set(request.body.deviceIds)];
    request.act = { target: objectIds.join(' ') };
    await this.rpc.call(installationsRpc.remove, { caller: request.caller, className, objectIds });
    return { deleted: objectIds.length };
  }

  async #findMarked(caller: Caller, objectIds: readonly string[]): Promise<JsonObject[]> {
    if (objectIds.length === 0) return [];
    const { results } = await this.rpc.call(installationsRpc.find, { caller, className, ...withIds(objectIds) });
    return results;
  }

  async #findSome(caller: Caller, where: JsonObject, limit: number): Promise<JsonObject[]> {
    const { results } = await this.rpc.call(installationsRpc.find, {
      caller,
      className,
      where,
      ...NEWEST_FIRST,
      limit,
    });
    return results;
  }

  /** Fewer than `limit` devices if so many exceed the size of a reply. */
  async #findFitting(caller: Caller, where: JsonObject, limit: number): Promise<JsonObject[]> {
    try {
      return await this.#findSome(caller, where, limit);
    } catch (error) {
      if (limit === 1 || !isAppError(error, 'OBJECT_TOO_LARGE')) throw error;
      return this.#findFitting(caller, where, Math.floor(limit / 2));
    }
  }

  async #device(request: DeviceRequest): Promise<OneDevice> {
    const installation = await this.#find(request);
    return { device: toDeviceDetails(installation, await this.#statesOf(request.params.appId, [installation])) };
  }

  async #find({ caller, params }: DeviceRequest): Promise<JsonObject> {
    const wanted = { caller, className, objectId: params.deviceId, returnAcl: false };
    const { object } = await this.rpc.call(installationsRpc.get, wanted);
    if (object === null) throw notFound();
    return object;
  }

  /** By installation id, at most `MAX_DESCRIBED_DEVICES`. Undefined while the queue store is unavailable. */
  async #statesOf(appId: string, installations: readonly JsonObject[]): Promise<States | undefined> {
    const installationIds = installations.flatMap(({ installationId: id }) => (typeof id === 'string' ? [id] : []));
    if (installationIds.length === 0) return new Map();
    try {
      const { devices } = await this.rpc.call(pushOperationsRpc.describeDevices, { appId, installationIds });
      return new Map(devices.map((device) => [device.installationId, device]));
    } catch (error) {
      if (isAppError(error, 'SERVICE_UNAVAILABLE')) return undefined;
      throw error;
    }
  }
}

function notFound(): AppError {
  return appError('NOT_FOUND', { message: 'There is no such device.' });
}

function conditionOf({ deviceType, channel, userId }: DeviceFilters): JsonObject {
  return {
    ...(deviceType === undefined ? {} : { deviceType }),
    ...(channel === undefined ? {} : { channels: channel }),
    ...(userId === undefined ? {} : { user: { __type: 'Pointer', className: '_User', objectId: userId } }),
  };
}

function contextOf(appId: string): string {
  return `connected devices of ${appId}`;
}

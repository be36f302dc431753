import { Injectable } from '@nestjs/common';
import { consoleApi, type Device, type RouteReply } from '#console-api';
import {
  installationsRpc,
  type JsonObject,
  MAX_DESCRIBED_DEVICES,
  pushOperationsRpc,
  type RpcData,
  type RpcReply,
} from '#contracts';
import { AppError, appError } from '#errors';
import { RpcClient } from '#messaging';
import { Sealer } from '#security';
import { type ConsoleRequest, Handles } from '../routing/console-handler.js';
import { pageOf } from '../routing/list.rules.js';
import {
  conditionAfter,
  deviceDetails,
  NEWEST_FIRST,
  placeOf,
  shownDevice,
  UNCHANGEABLE_FIELDS,
} from './push.rules.js';

type Api = typeof consoleApi;
type OneDevice = RouteReply<Api['getDevice']>;
type DeviceRequest = Pick<ConsoleRequest, 'caller'> & { readonly params: { appId: string; deviceId: string } };
type ConnectedPlace = NonNullable<RpcData<typeof pushOperationsRpc.listConnected>['after']>;
type States = ReadonlyMap<string, RpcReply<typeof pushOperationsRpc.describeDevices>['devices'][number]>;

const className = '_Installation';

/** Devices, with their connections and queues. No answer holds an installation id or a token of a device. */
@Injectable()
export class DevicesHandlers {
  constructor(
    private readonly rpc: RpcClient,
    private readonly sealer: Sealer,
  ) {}

  @Handles(consoleApi.listDevices)
  async list({ params, query, caller }: ConsoleRequest<Api['listDevices']>): Promise<RouteReply<Api['listDevices']>> {
    const { deviceType, channel, userId, after, limit } = query;
    const where = {
      ...(deviceType === undefined ? {} : { deviceType }),
      ...(channel === undefined ? {} : { channels: channel }),
      ...(userId === undefined ? {} : { user: { __type: 'Pointer', className: '_User', objectId: userId } }),
      ...conditionAfter(after),
    };
    const asked = { caller, className, where, ...NEWEST_FIRST, limit: limit + 1 };
    const { results } = await this.rpc.call(installationsRpc.find, asked);
    const states = await this.statesOf(params.appId, results.slice(0, limit));
    return pageOf(
      results.map((installation) => shownDevice(installation, states)),
      limit,
      placeOf,
    );
  }

  /** Devices that are connected without an installation are left out: nothing is known of them. */
  @Handles(consoleApi.listConnectedDevices)
  async listConnected({
    params,
    query,
    caller,
  }: ConsoleRequest<Api['listConnectedDevices']>): Promise<RouteReply<Api['listConnectedDevices']>> {
    const { appId } = params;
    const after = query.after === undefined ? undefined : this.placeOf(appId, query.after);
    const asked = { appId, limit: query.limit, ...(after === undefined ? {} : { after }) };
    const { devices, next } = await this.rpc.call(pushOperationsRpc.listConnected, asked);
    const items: Device[] = [];
    for (const some of chunksOf(devices.map(({ installationId }) => installationId))) {
      const where = { installationId: { $in: some } };
      const found = { caller, className, where, ...NEWEST_FIRST, limit: some.length };
      const { results } = await this.rpc.call(installationsRpc.find, found);
      const states = await this.statesOf(appId, results);
      items.push(...results.map((installation) => shownDevice(installation, states)));
    }
    return { items, next: next === null ? null : this.sealer.seal(JSON.stringify(next), contextOf(appId)) };
  }

  @Handles(consoleApi.getDevice)
  get(request: ConsoleRequest<Api['getDevice']>): Promise<OneDevice> {
    return this.device(request);
  }

  @Handles(consoleApi.changeDevice)
  async change(request: ConsoleRequest<Api['changeDevice']>): Promise<OneDevice> {
    const { caller, params, body } = request;
    // A key can be a path, such as `webPush.endpoint`.
    const changed = new Set(Object.keys(body.changes).map((key) => key.split('.', 1)[0]));
    const name = UNCHANGEABLE_FIELDS.find((each) => changed.has(each));
    if (name !== undefined) throw appError('INCORRECT_TYPE', { message: `${name}: cannot be changed here.` });
    const stored = await this.find(request);
    const before = Object.keys(body.changes).map((each) => [each, stored[each] ?? null]);
    request.act = { before: Object.fromEntries(before) as JsonObject };
    const changes = body.changes as JsonObject;
    const update = { caller, className, objectId: params.deviceId, changes, returnNew: false };
    await this.rpc.call(installationsRpc.update, update);
    return this.device(request);
  }

  @Handles(consoleApi.deleteDevices)
  async delete(request: ConsoleRequest<Api['deleteDevices']>): Promise<RouteReply<Api['deleteDevices']>> {
    const objectIds = [...new Set(request.body.deviceIds)];
    request.act = { target: objectIds.join(' ').slice(0, 300) };
    await this.rpc.call(installationsRpc.remove, { caller: request.caller, className, objectIds });
    return { deleted: objectIds.length };
  }

  private async device(request: DeviceRequest): Promise<OneDevice> {
    const installation = await this.find(request);
    return { device: deviceDetails(installation, await this.statesOf(request.params.appId, [installation])) };
  }

  /** @throws AppError NOT_FOUND */
  private async find({ caller, params }: DeviceRequest): Promise<JsonObject> {
    const wanted = { caller, className, objectId: params.deviceId, returnAcl: false };
    const { object } = await this.rpc.call(installationsRpc.get, wanted);
    if (object === null) throw appError('NOT_FOUND', { message: 'There is no such device.' });
    return object;
  }

  /** By installation id, of at most `MAX_DESCRIBED_DEVICES`. @returns undefined while the store of the queues is away */
  private async statesOf(appId: string, installations: readonly JsonObject[]): Promise<States | undefined> {
    const installationIds = installations.flatMap(({ installationId: id }) => (typeof id === 'string' ? [id] : []));
    if (installationIds.length === 0) return new Map();
    try {
      const { devices } = await this.rpc.call(pushOperationsRpc.describeDevices, { appId, installationIds });
      return new Map(devices.map((device) => [device.installationId, device]));
    } catch (error) {
      if (error instanceof AppError && error.is('SERVICE_UNAVAILABLE')) return undefined;
      throw error;
    }
  }

  /** The place of a cursor. It is sealed, because it can be an installation id. @throws AppError INVALID_QUERY */
  private placeOf(appId: string, cursor: string): ConnectedPlace {
    try {
      return JSON.parse(this.sealer.open(cursor, contextOf(appId))) as ConnectedPlace;
    } catch {
      throw appError('INVALID_QUERY', { message: 'after: is no cursor.' });
    }
  }
}

function contextOf(appId: string): string {
  return `connected devices of ${appId}`;
}

/** A page can hold more devices than asked for. */
function chunksOf(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / MAX_DESCRIBED_DEVICES);
  return Array.from({ length: count }, (_, index) =>
    ids.slice(index * MAX_DESCRIBED_DEVICES, (index + 1) * MAX_DESCRIBED_DEVICES),
  );
}

import { Injectable } from '@nestjs/common';
import { consoleApi, PUSH_STATUSES, type PushDetails, type RouteReply } from '#console-api';
import { type JsonObject, type JsonValue, pushOperationsRpc, pushRpc } from '#contracts';
import { RpcClient } from '#messaging';
import { type ConsoleRequest, Handles, pageOf, readCursor } from '../routing/console-handler.js';

type Api = typeof consoleApi;
type ListedPush = RouteReply<Api['listPushes']>['items'][number];

const MAX_TITLE_LENGTH = 120;

/** Pushes: sent with the rights of the master key. */
@Injectable()
export class PushesHandlers {
  constructor(private readonly rpc: RpcClient) {}

  @Handles(consoleApi.listPushes)
  async list({ query, caller }: ConsoleRequest<Api['listPushes']>): Promise<RouteReply<Api['listPushes']>> {
    const { status, after, limit } = query;
    const page = { order: '-createdAt,-objectId', limit: limit + 1, skip: 0, count: false, returnAcl: false };
    const where = { ...(status === undefined ? {} : { status }), ...(after === undefined ? {} : before(after)) };
    const { results } = await this.rpc.call(pushRpc.findNotifications, { caller, where, ...page });
    return pageOf(results.map(listed), limit, placeOf);
  }

  @Handles(consoleApi.sendPush)
  async send(request: ConsoleRequest<Api['sendPush']>): Promise<RouteReply<Api['sendPush']>> {
    const { appId } = request.params;
    const sent = await this.rpc.call(pushOperationsRpc.send, { appId, body: request.body.body as JsonObject });
    request.act = { target: sent.objectId };
    return sent;
  }

  @Handles(consoleApi.getPush)
  async get({ params, caller }: ConsoleRequest<Api['getPush']>): Promise<RouteReply<Api['getPush']>> {
    const { appId, pushId: objectId } = params;
    const [status, { notification }] = await Promise.all([
      this.rpc.call(pushOperationsRpc.status, { appId, objectId }),
      this.rpc.call(pushRpc.getNotification, { caller, objectId }),
    ]);
    const push: PushDetails = {
      ...listed(notification),
      error: status.error,
      expiresAt: status.expiresAt,
      startsAt: textOrNull(notification['push-time']),
      data: objectOf(notification['msg']),
      where: objectOf(notification['where']),
      platforms: status.platforms,
      vendors: status.vendors,
      progress: null,
    };
    return { push };
  }

  @Handles(consoleApi.stopPush)
  async stop(request: ConsoleRequest<Api['stopPush']>): Promise<RouteReply<Api['stopPush']>> {
    const { caller, params } = request;
    const { notification } = await this.rpc.call(pushRpc.getNotification, { caller, objectId: params.pushId });
    const { title, status } = listed(notification);
    request.act = { before: { title, status } };
    return this.rpc.call(pushRpc.removeNotification, { caller, objectId: params.pushId });
  }
}

function placeOf({ createdAt, objectId }: Pick<ListedPush, 'createdAt' | 'objectId'>) {
  return { at: createdAt, id: objectId };
}

/** The condition for objects after the place of a cursor, newest first. @throws AppError INVALID_QUERY */
function before(cursor: string): JsonObject {
  const { at: iso, id: objectId } = readCursor(cursor);
  const createdAt = { __type: 'Date', iso };
  return { $or: [{ createdAt: { $lt: createdAt } }, { createdAt, objectId: { $lt: objectId } }] };
}

function listed(notification: JsonObject): ListedPush {
  const { status, devices, platforms } = notification;
  const known = PUSH_STATUSES.find((each) => each === status) ?? 'error';
  const delivered = Object.values(objectOf(platforms)).map((counts) => Number(objectOf(counts)['delivered'] ?? 0));
  const isFound = known === 'done' || known === 'in-queue';
  return {
    objectId: textOf(notification['objectId']),
    status: known,
    createdAt: textOf(notification['createdAt']),
    title: titleOf(objectOf(notification['msg'])),
    targeted: isFound ? Number(devices ?? 0) : null,
    delivered: isFound ? delivered.reduce((sum, each) => sum + each, 0) : null,
  };
}

/** The title or the text of a message; a message of several platforms has them one level deeper. */
function titleOf(data: JsonObject): string {
  const bodies = [data, ...Object.values(data).map(objectOf)];
  for (const { title, alert } of bodies) {
    const nested = objectOf(alert);
    const text = [title, nested['title'], alert, nested['body']].find((each) => typeof each === 'string');
    if (typeof text === 'string') return text.slice(0, MAX_TITLE_LENGTH);
  }
  return '';
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function textOrNull(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

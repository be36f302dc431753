import { Controller, Inject } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { Clock } from '#bootstrap';
import { type Caller, pushOperationsRpc, pushRpc, type RpcData, type RpcReply } from '#contracts';
import { appError } from '#errors';
import { RpcHandler } from '#messaging';
import { newObjectId } from '#objects';
import { CONNECTOR_NODES, type ConnectorNodes } from '../device-queues/connector-nodes.js';
import { PushDispatcher } from '../dispatch/push-dispatcher.js';
import { assertFindable } from '../installations/installations.repository.js';
import { PushDatabase } from '../push-delivery.database.js';
import type { NewNotification } from '../pushes/push.row.js';
import { NotificationsRepository } from './notifications.repository.js';
import { type ParsedPush, parsePush, parsePushToDevices } from './push-request.rules.js';

type PushRequest = RpcData<typeof pushRpc.send>;
type Accepted = RpcReply<typeof pushRpc.send>;
type PushOrigin = Pick<NewNotification, 'appId' | 'requestId'>;

/** A push is accepted once its row is committed; the row is also its job (ADR 22). */
@Controller()
export class PushController {
  constructor(
    private readonly applications: ApplicationDirectory,
    private readonly notifications: NotificationsRepository,
    private readonly database: PushDatabase,
    private readonly clock: Clock,
    private readonly dispatcher: PushDispatcher,
  ) {}

  /** @throws AppError CLIENT_PUSH_OFF, and the errors of `parsePush` and `parseWhere` */
  @RpcHandler(pushRpc.send)
  async send({ caller, body, prod }: PushRequest): Promise<Accepted> {
    await this.#assertMayPush(caller);
    return this.#accept(caller, parsePush(body, { now: this.clock.now(), prod }));
  }

  /** @throws AppError CLIENT_PUSH_OFF, and the errors of `parsePushToDevices` */
  @RpcHandler(pushRpc.sendToDevices)
  async sendToDevices({ caller, body, prod }: PushRequest): Promise<Accepted> {
    await this.#assertMayPush(caller);
    return this.#accept(caller, parsePushToDevices(body, { now: this.clock.now(), prod }));
  }

  @RpcHandler(pushOperationsRpc.send)
  async sendAsOperator({ appId, body }: RpcData<typeof pushOperationsRpc.send>): Promise<Accepted> {
    await this.applications.assertKnown(appId);
    return this.#accept({ appId, requestId: null }, parsePush(body, { now: this.clock.now(), prod: 'prod' }));
  }

  /** A repeated request gets the response of the first one. */
  async #accept(origin: PushOrigin, { notification, reqId }: ParsedPush): Promise<Accepted> {
    const { appId, requestId } = origin;
    assertFindable(appId, notification.target);
    const row = { ...notification, appId, requestId, objectId: newObjectId(notification.createdAt) };
    const accepted = await this.database.transaction(async (tx) => {
      const first = reqId === null ? undefined : await this.notifications.claimRequestId(tx, { ...row, reqId });
      if (first !== undefined) return first;
      const status = statusOf(row);
      await this.notifications.add(tx, row, status);
      tx.afterCommit(() => {
        this.dispatcher.accepted(status === 'in-queue');
      });
      return row;
    });
    return { objectId: accepted.objectId, createdAt: accepted.createdAt.toISOString() };
  }

  async #assertMayPush({ appId, isMaster }: Caller): Promise<void> {
    if (isMaster) return;
    const application = await this.applications.find(appId);
    if (application?.settings.allowClientPush !== true) throw appError('CLIENT_PUSH_OFF');
  }
}

function statusOf({ dueAt, createdAt }: NewNotification): 'scheduled' | 'in-queue' {
  return dueAt > createdAt ? 'scheduled' : 'in-queue';
}

@Controller()
export class ConnectorsController {
  constructor(@Inject(CONNECTOR_NODES) private readonly connectors: ConnectorNodes) {}

  @RpcHandler(pushRpc.findConnectors)
  async find(): Promise<RpcReply<typeof pushRpc.findConnectors>> {
    return { ports: (await this.connectors.live()).map(({ port }) => port) };
  }
}

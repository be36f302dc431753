import { Controller, Inject } from '@nestjs/common';
import { pushOperationsRpc, pushRpc, type RpcData, type RpcReply } from '#contracts';
import { listReply, type MaybeEncoded, RpcHandler } from '#messaging';
import { CONNECTOR_NODES, type ConnectorNodes } from '../device-queues/connector-nodes.js';
import { ConnectedCounts } from './connected-counts.js';
import { NotificationsService } from './notifications.service.js';
import { SendPushService } from './send-push.service.js';

type Push = typeof pushRpc;
type PushData<Name extends keyof Push> = RpcData<Push[Name]>;
type PushReply<Name extends keyof Push> = Promise<RpcReply<Push[Name]>>;
type Operations = typeof pushOperationsRpc;
type OperationsData<Name extends keyof Operations> = RpcData<Operations[Name]>;
type OperationsReply<Name extends keyof Operations> = Promise<RpcReply<Operations[Name]>>;

@Controller()
export class NotificationsController {
  constructor(
    private readonly pushes: SendPushService,
    private readonly notifications: NotificationsService,
  ) {}

  @RpcHandler(pushRpc.send)
  send(request: PushData<'send'>): PushReply<'send'> {
    return this.pushes.send(request);
  }

  @RpcHandler(pushRpc.sendToDevices)
  sendToDevices(request: PushData<'sendToDevices'>): PushReply<'sendToDevices'> {
    return this.pushes.sendToDevices(request);
  }

  @RpcHandler(pushRpc.getNotification)
  async getNotification({ caller, objectId }: PushData<'getNotification'>): PushReply<'getNotification'> {
    return { notification: await this.notifications.get(caller, objectId) };
  }

  @RpcHandler(pushRpc.findNotifications)
  async findNotifications({
    caller,
    ...list
  }: PushData<'findNotifications'>): Promise<MaybeEncoded<Push['findNotifications']>> {
    return listReply(await this.notifications.find(caller, list));
  }

  @RpcHandler(pushRpc.removeNotification)
  async removeNotification({ caller, objectId }: PushData<'removeNotification'>): PushReply<'removeNotification'> {
    await this.notifications.remove(caller, objectId);
    return {};
  }

  @RpcHandler(pushRpc.findScheduled)
  async findScheduled({ caller, ...page }: PushData<'findScheduled'>): Promise<MaybeEncoded<Push['findScheduled']>> {
    return listReply({ results: await this.notifications.findScheduled(caller, page) });
  }

  @RpcHandler(pushRpc.getScheduled)
  async getScheduled({ caller, id }: PushData<'getScheduled'>): PushReply<'getScheduled'> {
    return { push: await this.notifications.getScheduled(caller, id) };
  }

  @RpcHandler(pushRpc.cancelScheduled)
  async cancelScheduled({ caller, id }: PushData<'cancelScheduled'>): PushReply<'cancelScheduled'> {
    await this.notifications.cancelScheduled(caller, id);
    return {};
  }
}

@Controller()
export class ConnectorsController {
  constructor(@Inject(CONNECTOR_NODES) private readonly connectors: ConnectorNodes) {}

  @RpcHandler(pushRpc.findConnectors)
  async find(): PushReply<'findConnectors'> {
    return { ports: (await this.connectors.live()).map(({ port }) => port) };
  }
}

@Controller()
export class PushOperationsController {
  constructor(
    private readonly pushes: SendPushService,
    private readonly notifications: NotificationsService,
    private readonly connected: ConnectedCounts,
  ) {}

  @RpcHandler(pushOperationsRpc.send)
  send({ appId, body }: OperationsData<'send'>): OperationsReply<'send'> {
    return this.pushes.sendAsOperator(appId, body);
  }

  @RpcHandler(pushOperationsRpc.getStatus)
  getStatus({ appId, objectId }: OperationsData<'getStatus'>): OperationsReply<'getStatus'> {
    return this.notifications.status(appId, objectId);
  }

  @RpcHandler(pushOperationsRpc.countByDay)
  async countByDay({ appId, from }: OperationsData<'countByDay'>): OperationsReply<'countByDay'> {
    return { days: await this.notifications.countByDay(appId, from) };
  }

  @RpcHandler(pushOperationsRpc.countConnectedByHour)
  async countConnectedByHour({
    appId,
    from,
  }: OperationsData<'countConnectedByHour'>): OperationsReply<'countConnectedByHour'> {
    return { hours: await this.connected.byHour(appId, from) };
  }

  @RpcHandler(pushOperationsRpc.countDevices)
  countDevices({ appId }: OperationsData<'countDevices'>): OperationsReply<'countDevices'> {
    return this.notifications.countDevices(appId);
  }
}

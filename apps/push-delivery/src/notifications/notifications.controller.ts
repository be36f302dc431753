import { Controller, Inject } from '@nestjs/common';
import { pushOperationsRpc, pushRpc, type RpcData, type RpcReply } from '#contracts';
import { listReply, type MaybeEncoded, RpcHandler } from '#messaging';
import { CONNECTOR_NODES, type ConnectorNodes } from '../device-queues/connector-nodes.js';
import { ConnectedCounts } from './notifications.repository.js';
import { NotificationsService } from './notifications.service.js';
import { PushAudienceService, SendPushService } from './send-push.service.js';

type Push = typeof pushRpc;
type Operations = typeof pushOperationsRpc;

@Controller()
export class NotificationsController {
  constructor(
    private readonly pushes: SendPushService,
    private readonly notifications: NotificationsService,
  ) {}

  @RpcHandler(pushRpc.send)
  send(request: RpcData<Push['send']>): Promise<RpcReply<Push['send']>> {
    return this.pushes.send(request);
  }

  @RpcHandler(pushRpc.sendToDevices)
  sendToDevices(request: RpcData<Push['sendToDevices']>): Promise<RpcReply<Push['sendToDevices']>> {
    return this.pushes.sendToDevices(request);
  }

  @RpcHandler(pushRpc.getNotification)
  async getNotification({
    caller,
    objectId,
  }: RpcData<Push['getNotification']>): Promise<RpcReply<Push['getNotification']>> {
    return { notification: await this.notifications.get(caller, objectId) };
  }

  @RpcHandler(pushRpc.findNotifications)
  async findNotifications({
    caller,
    ...list
  }: RpcData<Push['findNotifications']>): Promise<MaybeEncoded<Push['findNotifications']>> {
    return listReply(await this.notifications.find(caller, list));
  }

  @RpcHandler(pushRpc.removeNotification)
  async removeNotification({
    caller,
    objectId,
  }: RpcData<Push['removeNotification']>): Promise<RpcReply<Push['removeNotification']>> {
    await this.notifications.remove(caller, objectId);
    return {};
  }

  @RpcHandler(pushRpc.findScheduled)
  async findScheduled({
    caller,
    ...page
  }: RpcData<Push['findScheduled']>): Promise<MaybeEncoded<Push['findScheduled']>> {
    return listReply({ results: await this.notifications.findScheduled(caller, page) });
  }

  @RpcHandler(pushRpc.getScheduled)
  async getScheduled({ caller, id }: RpcData<Push['getScheduled']>): Promise<RpcReply<Push['getScheduled']>> {
    return { push: await this.notifications.getScheduled(caller, id) };
  }

  @RpcHandler(pushRpc.cancelScheduled)
  async cancelScheduled({ caller, id }: RpcData<Push['cancelScheduled']>): Promise<RpcReply<Push['cancelScheduled']>> {
    await this.notifications.cancelScheduled(caller, id);
    return {};
  }
}

@Controller()
export class ConnectorsController {
  constructor(@Inject(CONNECTOR_NODES) private readonly connectors: ConnectorNodes) {}

  @RpcHandler(pushRpc.findConnectors)
  async find(): Promise<RpcReply<typeof pushRpc.findConnectors>> {
    return { ports: (await this.connectors.live()).map(({ port }) => port) };
  }
}

@Controller()
export class PushOperationsController {
  constructor(
    private readonly pushes: SendPushService,
    private readonly notifications: NotificationsService,
    private readonly audience: PushAudienceService,
    private readonly connected: ConnectedCounts,
  ) {}

  @RpcHandler(pushOperationsRpc.countTargets)
  countTargets(push: RpcData<Operations['countTargets']>): Promise<RpcReply<Operations['countTargets']>> {
    return this.audience.countTargets(push);
  }

  @RpcHandler(pushOperationsRpc.preview)
  preview(push: RpcData<Operations['preview']>): Promise<RpcReply<Operations['preview']>> {
    return this.audience.preview(push);
  }

  @RpcHandler(pushOperationsRpc.listConnected)
  listConnected(page: RpcData<Operations['listConnected']>): Promise<RpcReply<Operations['listConnected']>> {
    return this.audience.listConnected(page);
  }

  @RpcHandler(pushOperationsRpc.describeDevices)
  describeDevices(devices: RpcData<Operations['describeDevices']>): Promise<RpcReply<Operations['describeDevices']>> {
    return this.audience.describeDevices(devices);
  }

  @RpcHandler(pushOperationsRpc.send)
  send({ appId, body }: RpcData<Operations['send']>): Promise<RpcReply<Operations['send']>> {
    return this.pushes.sendAsOperator(appId, body);
  }

  @RpcHandler(pushOperationsRpc.getStatus)
  getStatus({ appId, objectId }: RpcData<Operations['getStatus']>): Promise<RpcReply<Operations['getStatus']>> {
    return this.notifications.status(appId, objectId);
  }

  @RpcHandler(pushOperationsRpc.countByDay)
  async countByDay({ appId, from }: RpcData<Operations['countByDay']>): Promise<RpcReply<Operations['countByDay']>> {
    return { days: await this.notifications.countByDay(appId, from) };
  }

  @RpcHandler(pushOperationsRpc.countConnectedByHour)
  async countConnectedByHour({
    appId,
    from,
  }: RpcData<Operations['countConnectedByHour']>): Promise<RpcReply<Operations['countConnectedByHour']>> {
    return { hours: await this.connected.byHour(appId, from) };
  }

  @RpcHandler(pushOperationsRpc.countDevices)
  countDevices({ appId }: RpcData<Operations['countDevices']>): Promise<RpcReply<Operations['countDevices']>> {
    return this.notifications.countDevices(appId);
  }
}

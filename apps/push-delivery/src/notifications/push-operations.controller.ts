import { Controller, Inject } from '@nestjs/common';
import { pushOperationsRpc, pushRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { CONNECTOR_NODES, type ConnectorNodes } from '../device-queues/connector-nodes.js';
import { NotificationsService } from './notifications.service.js';
import { SendPushService } from './send-push.service.js';

@Controller()
export class ConnectorsController {
  constructor(@Inject(CONNECTOR_NODES) private readonly connectors: ConnectorNodes) {}

  @RpcHandler(pushRpc.findConnectors)
  async find(): Promise<RpcReply<typeof pushRpc.findConnectors>> {
    return { ports: (await this.connectors.live()).map(({ port }) => port) };
  }
}

type Operations = typeof pushOperationsRpc;

@Controller()
export class PushOperationsController {
  constructor(
    private readonly pushes: SendPushService,
    private readonly notifications: NotificationsService,
  ) {}

  @RpcHandler(pushOperationsRpc.send)
  send({ appId, body }: RpcData<Operations['send']>): Promise<RpcReply<Operations['send']>> {
    return this.pushes.sendAsOperator(appId, body);
  }

  @RpcHandler(pushOperationsRpc.status)
  status({ appId, objectId }: RpcData<Operations['status']>): Promise<RpcReply<Operations['status']>> {
    return this.notifications.status(appId, objectId);
  }

  @RpcHandler(pushOperationsRpc.devices)
  count({ appId }: RpcData<Operations['devices']>): Promise<RpcReply<Operations['devices']>> {
    return this.notifications.countDevices(appId);
  }
}

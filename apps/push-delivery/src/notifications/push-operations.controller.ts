import { Controller } from '@nestjs/common';
import { pushOperationsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { DeviceReportService } from './device-report.service.js';
import { NotificationsService } from './notifications.service.js';
import { SendPushService } from './send-push.service.js';

type Operations = typeof pushOperationsRpc;

@Controller()
export class PushOperationsController {
  constructor(
    private readonly pushes: SendPushService,
    private readonly notifications: NotificationsService,
    private readonly devices: DeviceReportService,
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
    return this.devices.count(appId);
  }
}

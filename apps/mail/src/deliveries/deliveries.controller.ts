import { Controller } from '@nestjs/common';
import { deliveriesRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { DeliveriesService } from './deliveries.service.js';

@Controller()
export class DeliveriesController {
  constructor(private readonly deliveries: DeliveriesService) {}

  @RpcHandler(deliveriesRpc.list)
  async list(wanted: RpcData<typeof deliveriesRpc.list>): Promise<RpcReply<typeof deliveriesRpc.list>> {
    return { deliveries: await this.deliveries.list(wanted) };
  }

  @RpcHandler(deliveriesRpc.get)
  async get({ id }: RpcData<typeof deliveriesRpc.get>): Promise<RpcReply<typeof deliveriesRpc.get>> {
    return { delivery: await this.deliveries.get(id) };
  }

  @RpcHandler(deliveriesRpc.retry)
  async retry({ id }: RpcData<typeof deliveriesRpc.retry>): Promise<RpcReply<typeof deliveriesRpc.retry>> {
    return { delivery: await this.deliveries.retry(id) };
  }

  @RpcHandler(deliveriesRpc.retryDead)
  async retryDead({
    appId,
  }: RpcData<typeof deliveriesRpc.retryDead>): Promise<RpcReply<typeof deliveriesRpc.retryDead>> {
    return { retried: await this.deliveries.retryDead(appId) };
  }
}

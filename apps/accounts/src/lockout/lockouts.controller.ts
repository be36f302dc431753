import { Controller } from '@nestjs/common';
import { lockoutsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { LockoutsService } from './lockouts.service.js';

@Controller()
export class LockoutsController {
  constructor(private readonly lockouts: LockoutsService) {}

  @RpcHandler(lockoutsRpc.list)
  async list(page: RpcData<typeof lockoutsRpc.list>): Promise<RpcReply<typeof lockoutsRpc.list>> {
    return { lockedUsers: await this.lockouts.list(page) };
  }

  @RpcHandler(lockoutsRpc.get)
  async get(wanted: RpcData<typeof lockoutsRpc.get>): Promise<RpcReply<typeof lockoutsRpc.get>> {
    return this.lockouts.get(wanted);
  }
}

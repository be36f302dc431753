import { Controller } from '@nestjs/common';
import { lockoutsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { LockoutReportService } from './lockout-report.service.js';

@Controller()
export class LockoutReportController {
  constructor(private readonly lockouts: LockoutReportService) {}

  @RpcHandler(lockoutsRpc.list)
  async list(page: RpcData<typeof lockoutsRpc.list>): Promise<RpcReply<typeof lockoutsRpc.list>> {
    return { lockedUsers: await this.lockouts.list(page) };
  }

  @RpcHandler(lockoutsRpc.get)
  async get(wanted: RpcData<typeof lockoutsRpc.get>): Promise<RpcReply<typeof lockoutsRpc.get>> {
    return this.lockouts.get(wanted);
  }
}

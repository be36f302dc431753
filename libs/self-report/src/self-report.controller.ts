import { Controller, type Type } from '@nestjs/common';
import type { RpcData, RpcReply, selfReportRpc } from '#contracts';
import { RpcHandler } from '#messaging';
import { SelfReportService } from './self-report.service.js';

type Examine = typeof selfReportRpc.accounts;

/** A controller that answers for one service. */
export function answering(contract: Examine): Type {
  @Controller()
  class SelfReportController {
    constructor(private readonly report: SelfReportService) {}

    @RpcHandler(contract)
    examine(_: RpcData<Examine>): Promise<RpcReply<Examine>> {
      return this.report.make();
    }
  }
  return SelfReportController;
}

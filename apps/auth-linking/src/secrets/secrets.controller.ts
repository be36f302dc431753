import { Controller } from '@nestjs/common';
import { authLinkingSealingRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { SealedRows } from '#security';

type Rpc = typeof authLinkingSealingRpc;

/** What operators ask where they replace the deployment's secret. */
@Controller()
export class SecretsController {
  constructor(private readonly rows: SealedRows) {}

  @RpcHandler(authLinkingSealingRpc.describe)
  describe(_: RpcData<Rpc['describe']>): Promise<RpcReply<Rpc['describe']>> {
    return Promise.resolve(this.rows.describe());
  }

  @RpcHandler(authLinkingSealingRpc.walk)
  walk(request: RpcData<Rpc['walk']>): Promise<RpcReply<Rpc['walk']>> {
    return this.rows.walk(request);
  }
}

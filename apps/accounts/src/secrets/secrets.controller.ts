import { Controller } from '@nestjs/common';
import { accountsSealingRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { SealedRows } from '#security';
import { SecretRotationsService } from './secret-rotations.service.js';

type Rpc = typeof accountsSealingRpc;

/** The RPCs of operators that replace the deployment's secret. */
@Controller()
export class SecretsController {
  constructor(
    private readonly rows: SealedRows,
    private readonly rotations: SecretRotationsService,
  ) {}

  @RpcHandler(accountsSealingRpc.describe)
  describe(_: RpcData<Rpc['describe']>): Promise<RpcReply<Rpc['describe']>> {
    return Promise.resolve(this.rows.describe());
  }

  @RpcHandler(accountsSealingRpc.walk)
  walk(request: RpcData<Rpc['walk']>): Promise<RpcReply<Rpc['walk']>> {
    return this.rows.walk(request);
  }

  @RpcHandler(accountsSealingRpc.recordRotation)
  async recordRotation({ keyId, isChanged }: RpcData<Rpc['recordRotation']>): Promise<RpcReply<Rpc['recordRotation']>> {
    await this.rotations.record(keyId, isChanged);
    return {};
  }

  @RpcHandler(accountsSealingRpc.getRotation)
  getRotation({ keyId }: RpcData<Rpc['getRotation']>): Promise<RpcReply<Rpc['getRotation']>> {
    return this.rotations.find(keyId);
  }
}

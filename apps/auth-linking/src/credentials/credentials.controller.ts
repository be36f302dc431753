import { Controller } from '@nestjs/common';
import { authLinkingSealingRpc, platformsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { SealedRows } from '#security';
import { CredentialsService } from './credentials.service.js';

type Rpc = typeof authLinkingSealingRpc;

@Controller()
export class CredentialsController {
  constructor(private readonly credentials: CredentialsService) {}

  @RpcHandler(platformsRpc.set)
  async set(wanted: RpcData<typeof platformsRpc.set>): Promise<RpcReply<typeof platformsRpc.set>> {
    return { credentials: await this.credentials.set(wanted) };
  }

  @RpcHandler(platformsRpc.remove)
  async remove({
    appId,
    platform,
  }: RpcData<typeof platformsRpc.remove>): Promise<RpcReply<typeof platformsRpc.remove>> {
    await this.credentials.remove(appId, platform);
    return {};
  }

  @RpcHandler(platformsRpc.list)
  async list({ appId }: RpcData<typeof platformsRpc.list>): Promise<RpcReply<typeof platformsRpc.list>> {
    return { platforms: await this.credentials.list(appId) };
  }
}

/** Lets operators replace the deployment's secret. */
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

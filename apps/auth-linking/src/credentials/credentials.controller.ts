import { Controller } from '@nestjs/common';
import { platformsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { CredentialsService } from './credentials.service.js';

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

import { Controller } from '@nestjs/common';
import { type RpcData, type RpcReply, textMessageProvidersRpc } from '#contracts';
import { RpcHandler } from '#messaging';
import { TextMessageProvidersService } from './text-message-providers.service.js';

type Rpc = typeof textMessageProvidersRpc;

@Controller()
export class TextMessageProvidersController {
  constructor(private readonly providers: TextMessageProvidersService) {}

  @RpcHandler(textMessageProvidersRpc.get)
  async get({ appId }: RpcData<Rpc['get']>): Promise<RpcReply<Rpc['get']>> {
    return { provider: await this.providers.get(appId) };
  }

  @RpcHandler(textMessageProvidersRpc.set)
  async set(wanted: RpcData<Rpc['set']>): Promise<RpcReply<Rpc['set']>> {
    return { provider: await this.providers.set(wanted) };
  }

  @RpcHandler(textMessageProvidersRpc.remove)
  async remove({ appId }: RpcData<Rpc['remove']>): Promise<RpcReply<Rpc['remove']>> {
    await this.providers.remove(appId);
    return {};
  }
}

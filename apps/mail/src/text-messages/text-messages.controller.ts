import { Controller } from '@nestjs/common';
import { events, type RpcData, type RpcReply, textMessageProvidersRpc } from '#contracts';
import { EventHandler, type ReceivedEvent, RpcHandler } from '#messaging';
import { TextMessageProvidersService } from './text-message-providers.service.js';
import { TextMessagesService } from './text-messages.service.js';

type Rpc = typeof textMessageProvidersRpc;

@Controller()
export class TextMessagesController {
  constructor(private readonly messages: TextMessagesService) {}

  @EventHandler(events.smsRequested)
  async request({ id, payload }: ReceivedEvent<typeof events.smsRequested>): Promise<void> {
    await this.messages.request(id, payload);
  }
}

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

import { Controller } from '@nestjs/common';
import { authLinkingRpc, type RpcData, type RpcReply } from '#contracts';
import { type Forwarded, RpcHandler } from '#messaging';
import { LinkingService } from './linking.service.js';

type Contracts = typeof authLinkingRpc;

@Controller()
export class LinkingController {
  constructor(private readonly linking: LinkingService) {}

  @RpcHandler(authLinkingRpc.signUpOrLogIn)
  async signUpOrLogIn(
    request: RpcData<Contracts['signUpOrLogIn']>,
  ): Promise<Forwarded<RpcReply<Contracts['signUpOrLogIn']>>> {
    return this.linking.signUpOrLogIn(request);
  }

  @RpcHandler(authLinkingRpc.updateUser)
  async updateUser(request: RpcData<Contracts['updateUser']>): Promise<Forwarded<RpcReply<Contracts['updateUser']>>> {
    return this.linking.updateUser(request);
  }

  @RpcHandler(authLinkingRpc.saveAll)
  async saveAll(request: RpcData<Contracts['saveAll']>): Promise<Forwarded<RpcReply<Contracts['saveAll']>>> {
    return this.linking.saveAll(request);
  }
}

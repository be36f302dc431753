import { Controller } from '@nestjs/common';
import { accountsRpc, identitiesRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { IdentitiesService } from './identities.service.js';

type Accounts = typeof accountsRpc;
type Identities = typeof identitiesRpc;

@Controller()
export class IdentitiesController {
  constructor(private readonly identities: IdentitiesService) {}

  @RpcHandler(accountsRpc.signUpOrLogInByIdentity)
  async signUpOrLogIn({
    caller,
    ...request
  }: RpcData<Accounts['signUpOrLogInByIdentity']>): Promise<RpcReply<Accounts['signUpOrLogInByIdentity']>> {
    return this.identities.signUpOrLogIn(caller, request);
  }

  @RpcHandler(identitiesRpc.count)
  async count({ appId }: RpcData<Identities['count']>): Promise<RpcReply<Identities['count']>> {
    return { platforms: await this.identities.count(appId) };
  }
}

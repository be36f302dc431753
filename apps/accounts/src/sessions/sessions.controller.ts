import { Controller } from '@nestjs/common';
import { accountsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { PrincipalsService } from '../principals/principals.service.js';
import { RefreshSessionService } from './refresh-session.service.js';

type Accounts = typeof accountsRpc;

@Controller()
export class SessionsController {
  constructor(
    private readonly sessions: RefreshSessionService,
    private readonly principals: PrincipalsService,
  ) {}

  @RpcHandler(accountsRpc.resolvePrincipal)
  async resolvePrincipal({
    caller,
  }: RpcData<Accounts['resolvePrincipal']>): Promise<RpcReply<Accounts['resolvePrincipal']>> {
    return { principal: await this.principals.of(caller) };
  }

  @RpcHandler(accountsRpc.refreshSessionToken)
  async refreshSessionToken({
    caller,
    objectId,
  }: RpcData<Accounts['refreshSessionToken']>): Promise<RpcReply<Accounts['refreshSessionToken']>> {
    return { user: await this.sessions.refresh(caller, objectId) };
  }
}

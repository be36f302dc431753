import { Controller } from '@nestjs/common';
import { accountsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { LoginMethodsService } from './login-methods.service.js';

type Accounts = typeof accountsRpc;

@Controller()
export class LoginController {
  constructor(private readonly logins: LoginMethodsService) {}

  @RpcHandler(accountsRpc.logIn)
  async logIn({ caller, credentials }: RpcData<Accounts['logIn']>): Promise<RpcReply<Accounts['logIn']>> {
    return { user: await this.logins.logIn(caller, credentials) };
  }
}

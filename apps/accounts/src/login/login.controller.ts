import { Controller } from '@nestjs/common';
import { accountsRpc, lockoutsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { LoginService } from './login.service.js';

type Accounts = typeof accountsRpc;
type Lockouts = typeof lockoutsRpc;

@Controller()
export class LoginController {
  constructor(private readonly logins: LoginService) {}

  @RpcHandler(accountsRpc.logIn)
  async logIn({ caller, credentials }: RpcData<Accounts['logIn']>): Promise<RpcReply<Accounts['logIn']>> {
    return { user: await this.logins.logIn(caller, credentials) };
  }

  @RpcHandler(lockoutsRpc.list)
  async listLockouts(page: RpcData<Lockouts['list']>): Promise<RpcReply<Lockouts['list']>> {
    return { lockedUsers: await this.logins.listLockouts(page) };
  }

  @RpcHandler(lockoutsRpc.get)
  async getLockout(wanted: RpcData<Lockouts['get']>): Promise<RpcReply<Lockouts['get']>> {
    return this.logins.getLockout(wanted);
  }
}

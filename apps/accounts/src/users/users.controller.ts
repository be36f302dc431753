import { Controller } from '@nestjs/common';
import { accountsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { PrincipalsService } from '../sessions/sessions.service.js';
import { SignUpService } from './sign-up.service.js';
import { UserObjectWrites } from './user-object-writes.js';
import { UsersService } from './users.service.js';

type Rpc = typeof accountsRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

@Controller()
export class UsersController {
  constructor(
    private readonly users: UsersService,
    private readonly signUps: SignUpService,
    private readonly principals: PrincipalsService,
    private readonly writes: UserObjectWrites,
  ) {}

  @RpcHandler(accountsRpc.signUp)
  async signUp({ caller, fields }: Data<'signUp'>): Reply<'signUp'> {
    return { user: await this.signUps.signUp(caller, fields), isNew: true };
  }

  @RpcHandler(accountsRpc.getUser)
  async get({ caller, objectId, ...options }: Data<'getUser'>): Reply<'getUser'> {
    return { user: await this.users.get(caller, objectId, options) };
  }

  @RpcHandler(accountsRpc.getCurrentUser)
  async getCurrent({ caller }: Data<'getCurrentUser'>): Reply<'getCurrentUser'> {
    return { user: await this.users.getCurrent(caller) };
  }

  @RpcHandler(accountsRpc.updateUser)
  async update({ caller, objectId, changes, ...options }: Data<'updateUser'>): Reply<'updateUser'> {
    const prepared = await this.writes.prepareChange(caller, objectId, changes, options);
    return { result: await prepared.runAlone() };
  }

  @RpcHandler(accountsRpc.updatePassword)
  async updatePassword({ caller, objectId, passwords }: Data<'updatePassword'>): Reply<'updatePassword'> {
    return { result: await this.users.updatePassword(caller, objectId, passwords) };
  }

  @RpcHandler(accountsRpc.resolvePrincipal)
  async resolvePrincipal({ caller }: Data<'resolvePrincipal'>): Reply<'resolvePrincipal'> {
    return { principal: await this.principals.of(caller) };
  }

  @RpcHandler(accountsRpc.refreshSessionToken)
  async refreshSessionToken({ caller, objectId }: Data<'refreshSessionToken'>): Reply<'refreshSessionToken'> {
    return { user: await this.users.refreshSessionToken(caller, objectId) };
  }
}

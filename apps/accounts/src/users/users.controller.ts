import { Controller } from '@nestjs/common';
import { accountsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { PrincipalsService } from '../sessions/sessions.module.js';
import { SignUpService } from './sign-up.service.js';
import { UserObjectWrites } from './user-object-writes.js';
import { UsersService } from './users.service.js';

type Accounts = typeof accountsRpc;

@Controller()
export class UsersController {
  constructor(
    private readonly users: UsersService,
    private readonly signUps: SignUpService,
    private readonly principals: PrincipalsService,
    private readonly writes: UserObjectWrites,
  ) {}

  @RpcHandler(accountsRpc.signUp)
  async signUp({ caller, fields }: RpcData<Accounts['signUp']>): Promise<RpcReply<Accounts['signUp']>> {
    return { user: await this.signUps.signUp(caller, fields), isNew: true };
  }

  @RpcHandler(accountsRpc.getUser)
  async get({ caller, objectId, ...options }: RpcData<Accounts['getUser']>): Promise<RpcReply<Accounts['getUser']>> {
    return { user: await this.users.get(caller, objectId, options) };
  }

  @RpcHandler(accountsRpc.getCurrentUser)
  async getCurrent({ caller }: RpcData<Accounts['getCurrentUser']>): Promise<RpcReply<Accounts['getCurrentUser']>> {
    return { user: await this.users.getCurrent(caller) };
  }

  @RpcHandler(accountsRpc.updateUser)
  async update({
    caller,
    objectId,
    changes,
    ...options
  }: RpcData<Accounts['updateUser']>): Promise<RpcReply<Accounts['updateUser']>> {
    const prepared = await this.writes.prepareChange(caller, objectId, changes, options);
    return { result: await prepared.runAlone() };
  }

  @RpcHandler(accountsRpc.updatePassword)
  async updatePassword({
    caller,
    objectId,
    passwords,
  }: RpcData<Accounts['updatePassword']>): Promise<RpcReply<Accounts['updatePassword']>> {
    return { result: await this.users.updatePassword(caller, objectId, passwords) };
  }

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
    return { user: await this.users.refreshSessionToken(caller, objectId) };
  }
}

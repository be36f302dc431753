import { Controller } from '@nestjs/common';
import { accountsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { LoginService } from '../login/login.service.js';
import { SignUpService } from './sign-up.service.js';
import { UpdatePasswordService } from './update-password.service.js';
import { UpdateUserService } from './update-user.service.js';
import { UsersService } from './users.service.js';

type Accounts = typeof accountsRpc;

@Controller()
export class UsersController {
  constructor(
    private readonly users: UsersService,
    private readonly signUpService: SignUpService,
    private readonly loginService: LoginService,
    private readonly updateUserService: UpdateUserService,
    private readonly updatePasswordService: UpdatePasswordService,
  ) {}

  @RpcHandler(accountsRpc.signUp)
  async signUp({ caller, fields }: RpcData<Accounts['signUp']>): Promise<RpcReply<Accounts['signUp']>> {
    return { user: await this.signUpService.signUp(caller, fields) };
  }

  @RpcHandler(accountsRpc.logIn)
  async logIn({ caller, credentials }: RpcData<Accounts['logIn']>): Promise<RpcReply<Accounts['logIn']>> {
    return { user: await this.loginService.logIn(caller, credentials) };
  }

  @RpcHandler(accountsRpc.getUser)
  async get({ caller, objectId, ...options }: RpcData<Accounts['getUser']>): Promise<RpcReply<Accounts['getUser']>> {
    return { user: await this.users.get(caller, objectId, options) };
  }

  @RpcHandler(accountsRpc.getCurrentUser)
  async getCurrent({ caller }: RpcData<Accounts['getCurrentUser']>): Promise<RpcReply<Accounts['getCurrentUser']>> {
    return { user: await this.users.getCurrent(caller) };
  }

  @RpcHandler(accountsRpc.listUsers)
  async list({ caller, ...list }: RpcData<Accounts['listUsers']>): Promise<RpcReply<Accounts['listUsers']>> {
    return this.users.list(caller, list);
  }

  @RpcHandler(accountsRpc.updateUser)
  async update({
    caller,
    objectId,
    changes,
    ...options
  }: RpcData<Accounts['updateUser']>): Promise<RpcReply<Accounts['updateUser']>> {
    return { result: await this.updateUserService.update(caller, objectId, changes, options) };
  }

  @RpcHandler(accountsRpc.updatePassword)
  async updatePassword({
    caller,
    objectId,
    passwords,
  }: RpcData<Accounts['updatePassword']>): Promise<RpcReply<Accounts['updatePassword']>> {
    return { result: await this.updatePasswordService.updatePassword(caller, objectId, passwords) };
  }

  @RpcHandler(accountsRpc.refreshSessionToken)
  async refreshSessionToken({
    caller,
    objectId,
  }: RpcData<Accounts['refreshSessionToken']>): Promise<RpcReply<Accounts['refreshSessionToken']>> {
    return { user: await this.users.refreshSessionToken(caller, objectId) };
  }

  @RpcHandler(accountsRpc.removeUser)
  async remove({ caller, objectId }: RpcData<Accounts['removeUser']>): Promise<RpcReply<Accounts['removeUser']>> {
    await this.users.remove(caller, objectId);
    return {};
  }
}

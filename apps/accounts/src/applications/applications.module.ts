import { Controller, Module } from '@nestjs/common';
import { accountsRpc, applicationsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { Readiness } from '#observability';
import { ApplicationsRepository } from './applications.repository.js';
import { ApplicationsService } from './applications.service.js';
import { FirstApplication } from './first-application.js';

type Rpc = typeof applicationsRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

@Controller()
export class ApplicationsController {
  constructor(private readonly applications: ApplicationsService) {}

  @RpcHandler(accountsRpc.findApplication)
  async find({
    appId,
  }: RpcData<typeof accountsRpc.findApplication>): Promise<RpcReply<typeof accountsRpc.findApplication>> {
    return { application: await this.applications.find(appId) };
  }

  @RpcHandler(accountsRpc.listApplicationIds)
  async listIds(
    _: RpcData<typeof accountsRpc.listApplicationIds>,
  ): Promise<RpcReply<typeof accountsRpc.listApplicationIds>> {
    return { appIds: await this.applications.listIds() };
  }

  @RpcHandler(applicationsRpc.create)
  async create(wanted: Data<'create'>): Reply<'create'> {
    return { application: await this.applications.create(wanted) };
  }

  @RpcHandler(applicationsRpc.list)
  async list(_: Data<'list'>): Reply<'list'> {
    return { applications: await this.applications.list() };
  }

  @RpcHandler(applicationsRpc.get)
  async get({ id }: Data<'get'>): Reply<'get'> {
    return { application: await this.applications.get(id) };
  }

  @RpcHandler(applicationsRpc.changeSetting)
  async changeSetting({ id, ...change }: Data<'changeSetting'>): Reply<'changeSetting'> {
    return { settings: await this.applications.changeSetting(id, change) };
  }

  @RpcHandler(applicationsRpc.changePermission)
  async changePermission({ id, ...change }: Data<'changePermission'>): Reply<'changePermission'> {
    return { application: await this.applications.changePermission(id, change) };
  }

  @RpcHandler(applicationsRpc.rotateKeys)
  async rotateKeys({ id, ...which }: Data<'rotateKeys'>): Reply<'rotateKeys'> {
    return { application: await this.applications.rotateKeys(id, which) };
  }

  @RpcHandler(applicationsRpc.revokeOldKeys)
  async revokeOldKeys({ id, ...which }: Data<'revokeOldKeys'>): Reply<'revokeOldKeys'> {
    return { application: await this.applications.revokeOldKeys(id, which) };
  }
}

@Module({
  controllers: [ApplicationsController],
  providers: [ApplicationsService, ApplicationsRepository, FirstApplication],
  exports: [ApplicationsService, FirstApplication],
})
export class ApplicationsModule {
  constructor(readiness: Readiness, applications: ApplicationsService) {
    readiness.registerFitness('secret', () => applications.assertSecretFits());
  }
}

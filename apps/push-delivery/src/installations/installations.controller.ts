import { Controller } from '@nestjs/common';
import { installationsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import {
  ChangeInstallationsService,
  ReadInstallationsService,
  RegisterInstallationService,
} from './installations.service.js';

type Installations = typeof installationsRpc;

@Controller()
export class InstallationsController {
  constructor(
    private readonly registrations: RegisterInstallationService,
    private readonly reading: ReadInstallationsService,
    private readonly changes: ChangeInstallationsService,
  ) {}

  @RpcHandler(installationsRpc.register)
  async register({
    fields,
    returnNew,
    ...requester
  }: RpcData<Installations['register']>): Promise<RpcReply<Installations['register']>> {
    return this.registrations.register(requester, fields, returnNew);
  }

  @RpcHandler(installationsRpc.get)
  async get({
    caller,
    principal,
    objectId,
    ...options
  }: RpcData<Installations['get']>): Promise<RpcReply<Installations['get']>> {
    return { installation: (await this.reading.get({ caller, principal }, objectId, options)) ?? null };
  }

  @RpcHandler(installationsRpc.find)
  async find({ caller, principal, ...list }: RpcData<Installations['find']>): Promise<RpcReply<Installations['find']>> {
    return this.reading.find({ caller, principal }, list);
  }

  @RpcHandler(installationsRpc.update)
  async update({
    caller,
    principal,
    objectId,
    changes,
    ...options
  }: RpcData<Installations['update']>): Promise<RpcReply<Installations['update']>> {
    return { result: await this.changes.update({ caller, principal }, objectId, changes, options) };
  }

  @RpcHandler(installationsRpc.remove)
  async remove({
    objectIds,
    where,
    ...requester
  }: RpcData<Installations['remove']>): Promise<RpcReply<Installations['remove']>> {
    await this.changes.remove(requester, objectIds, where);
    return {};
  }

  @RpcHandler(installationsRpc.saveAll)
  async saveAll({
    writes,
    ...requester
  }: RpcData<Installations['saveAll']>): Promise<RpcReply<Installations['saveAll']>> {
    return { results: await this.changes.saveAll(requester, writes) };
  }
}

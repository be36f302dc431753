import { Controller } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { rolesRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { newObjectId } from '#objects';
import { ObjectsService } from '../objects/objects.service.js';
import { RolesService } from './roles.service.js';

type Roles = typeof rolesRpc;

@Controller()
export class RolesController {
  constructor(
    private readonly roles: RolesService,
    private readonly objects: ObjectsService,
    private readonly clock: Clock,
  ) {}

  @RpcHandler(rolesRpc.create)
  async create({ caller, fields, returnNew }: RpcData<Roles['create']>): Promise<RpcReply<Roles['create']>> {
    const objectId = newObjectId(this.clock.now());
    return { objectId, result: await this.roles.create(caller, fields, { id: objectId, returnNew }) };
  }

  @RpcHandler(rolesRpc.get)
  async get({ caller, objectId, ...options }: RpcData<Roles['get']>): Promise<RpcReply<Roles['get']>> {
    return { role: (await this.objects.get(caller, '_Role', objectId, options)) ?? null };
  }

  @RpcHandler(rolesRpc.update)
  async update({
    caller,
    objectId,
    changes,
    ...options
  }: RpcData<Roles['update']>): Promise<RpcReply<Roles['update']>> {
    return { result: await this.roles.update(caller, objectId, changes, options) };
  }

  @RpcHandler(rolesRpc.remove)
  async remove({ caller, objectIds, where }: RpcData<Roles['remove']>): Promise<RpcReply<Roles['remove']>> {
    await this.roles.remove(caller, objectIds, where);
    return {};
  }
}

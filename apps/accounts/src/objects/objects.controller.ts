import { Controller } from '@nestjs/common';
import { objectsRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { ObjectsService } from './objects.service.js';
import { SaveAllService } from './save-all.service.js';

type Objects = typeof objectsRpc;

@Controller()
export class ObjectsController {
  constructor(
    private readonly objects: ObjectsService,
    private readonly saveAllService: SaveAllService,
  ) {}

  @RpcHandler(objectsRpc.find)
  async find({ caller, className, ...list }: RpcData<Objects['find']>): Promise<RpcReply<Objects['find']>> {
    return this.objects.find(caller, className, list);
  }

  @RpcHandler(objectsRpc.saveAll)
  async saveAll({ caller, writes }: RpcData<Objects['saveAll']>): Promise<RpcReply<Objects['saveAll']>> {
    return { results: await this.saveAllService.saveAll(caller, writes) };
  }
}

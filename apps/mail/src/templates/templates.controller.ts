import { Controller } from '@nestjs/common';
import { type RpcData, type RpcReply, templatesRpc } from '#contracts';
import { RpcHandler } from '#messaging';
import { TemplatesService } from './templates.service.js';

@Controller()
export class TemplatesController {
  constructor(private readonly templates: TemplatesService) {}

  @RpcHandler(templatesRpc.list)
  async list({ appId }: RpcData<typeof templatesRpc.list>): Promise<RpcReply<typeof templatesRpc.list>> {
    return { templates: await this.templates.list(appId) };
  }

  @RpcHandler(templatesRpc.get)
  async get(place: RpcData<typeof templatesRpc.get>): Promise<RpcReply<typeof templatesRpc.get>> {
    return { template: await this.templates.get(place) };
  }

  @RpcHandler(templatesRpc.set)
  async set(wanted: RpcData<typeof templatesRpc.set>): Promise<RpcReply<typeof templatesRpc.set>> {
    return { template: await this.templates.set(wanted) };
  }

  @RpcHandler(templatesRpc.preview)
  async preview(wanted: RpcData<typeof templatesRpc.preview>): Promise<RpcReply<typeof templatesRpc.preview>> {
    return { mail: await this.templates.preview(wanted) };
  }

  @RpcHandler(templatesRpc.reset)
  async reset(place: RpcData<typeof templatesRpc.reset>): Promise<RpcReply<typeof templatesRpc.reset>> {
    await this.templates.reset(place);
    return {};
  }
}

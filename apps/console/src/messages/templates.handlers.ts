import { Injectable } from '@nestjs/common';
import { consoleApi, type RouteReply } from '#console-api';
import { templatesRpc } from '#contracts';
import { RpcClient } from '#messaging';
import { type ConsoleRequest, Handles } from '../routing/console-handler.js';

type Api = typeof consoleApi;

/** Templates of mails. */
@Injectable()
export class TemplatesHandlers {
  constructor(private readonly rpc: RpcClient) {}

  @Handles(consoleApi.listTemplates)
  async list({ params }: ConsoleRequest<Api['listTemplates']>): Promise<RouteReply<Api['listTemplates']>> {
    return { items: (await this.rpc.call(templatesRpc.list, params)).templates };
  }

  @Handles(consoleApi.getTemplate)
  get({ params }: ConsoleRequest<Api['getTemplate']>): Promise<RouteReply<Api['getTemplate']>> {
    return this.rpc.call(templatesRpc.get, params);
  }

  @Handles(consoleApi.setTemplate)
  async set(request: ConsoleRequest<Api['setTemplate']>): Promise<RouteReply<Api['setTemplate']>> {
    const { params, body } = request;
    const { template } = await this.rpc.call(templatesRpc.get, params);
    request.act = { before: { language: template.language, isOwn: template.isOwn, subject: template.subject } };
    return this.rpc.call(templatesRpc.set, { ...params, parts: body });
  }

  @Handles(consoleApi.resetTemplate)
  async reset(request: ConsoleRequest<Api['resetTemplate']>): Promise<RouteReply<Api['resetTemplate']>> {
    const { template } = await this.rpc.call(templatesRpc.get, request.params);
    request.act = { before: { subject: template.subject, text: template.text } };
    return this.rpc.call(templatesRpc.reset, request.params);
  }
}

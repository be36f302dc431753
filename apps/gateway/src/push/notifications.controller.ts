import { Controller, Delete, Get } from '@nestjs/common';
import { type Caller, type JsonObject, pushRpc } from '#contracts';
import { RpcClient } from '#messaging';
import { ObjectId, QueryParams, RequestCaller } from '../http/request.decorators.js';
import { parseListQuery } from '../objects/object.params.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { notificationsEndpoints } from './push.endpoints.js';

/** What became of pushes. */
@Controller('1.1')
export class NotificationsController {
  constructor(private readonly rpc: RpcClient) {}

  @Get('notifications')
  @Endpoint(notificationsEndpoints.list)
  list(
    @RequestCaller() caller: Caller,
    @QueryParams() params: Record<string, unknown>,
  ): Promise<{ results: JsonObject[]; count?: number | undefined }> {
    return this.rpc.call(pushRpc.findNotifications, { caller, ...parseListQuery(params) });
  }

  @Get(['notifications/:objectId', 'tables/Notifications/:objectId'])
  @Endpoint(notificationsEndpoints.get)
  async get(@RequestCaller() caller: Caller, @ObjectId() objectId: string): Promise<JsonObject> {
    return (await this.rpc.call(pushRpc.getNotification, { caller, objectId })).notification;
  }

  @Delete('notifications/:objectId')
  @Endpoint(notificationsEndpoints.remove)
  remove(@RequestCaller() caller: Caller, @ObjectId() objectId: string): Promise<JsonObject> {
    return this.rpc.call(pushRpc.removeNotification, { caller, objectId });
  }
}

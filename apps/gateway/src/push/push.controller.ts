import type { IncomingHttpHeaders } from 'node:http';
import { Controller, Delete, Get, Header, Headers, HttpCode, HttpStatus, Param, Post } from '@nestjs/common';
import { JSON_TYPE } from '#bootstrap';
import { type Caller, type JsonObject, pushRpc, type RpcReply } from '#contracts';
import { appError } from '#errors';
import { RpcClient } from '#messaging';
import { readEnvironment } from '../http/credentials.js';
import { JsonBody, ObjectId, QueryParams, RequestCaller } from '../http/request.decorators.js';
import { parseListQuery, parseWhere } from '../objects/object.params.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { notificationsEndpoints, pushEndpoints, scheduledPushesEndpoints, webPushEndpoints } from './push.endpoints.js';

type Accepted = RpcReply<typeof pushRpc.send>;

@Controller('1.1/push')
export class PushController {
  constructor(private readonly rpc: RpcClient) {}

  @Post()
  @HttpCode(HttpStatus.OK)
  @Endpoint(pushEndpoints.send)
  send(
    @RequestCaller() caller: Caller,
    @JsonBody() body: JsonObject,
    @Headers() headers: IncomingHttpHeaders,
  ): Promise<Accepted> {
    const { where } = body;
    // The SDK for Objective-C sends the condition as text.
    const parsed = typeof where === 'string' ? { ...body, where: parseWhere(where) } : body;
    return this.rpc.call(pushRpc.send, { caller, body: parsed, prod: readEnvironment(headers) });
  }

  @Post('devices')
  @HttpCode(HttpStatus.OK)
  @Endpoint(pushEndpoints.sendToDevices)
  sendToDevices(
    @RequestCaller() caller: Caller,
    @JsonBody() body: JsonObject,
    @Headers() headers: IncomingHttpHeaders,
  ): Promise<Accepted> {
    return this.rpc.call(pushRpc.sendToDevices, { caller, body, prod: readEnvironment(headers) });
  }

  @Get('webPushKey')
  @Endpoint(webPushEndpoints.key)
  webPushKey(@RequestCaller() caller: Caller): Promise<RpcReply<typeof pushRpc.getWebPushKey>> {
    return this.rpc.call(pushRpc.getWebPushKey, { caller });
  }
}

@Controller('1.1')
export class NotificationsController {
  constructor(private readonly rpc: RpcClient) {}

  @Get('notifications')
  @Header(...JSON_TYPE)
  @Endpoint(notificationsEndpoints.list)
  async list(@RequestCaller() caller: Caller, @QueryParams() params: Record<string, unknown>): Promise<string> {
    return this.rpc.callForJson(pushRpc.findNotifications, { caller, ...parseListQuery(params) });
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

const NUMBER = /^[1-9]\d{0,14}$/;

@Controller('1.1/scheduledPushMessages')
export class ScheduledPushesController {
  constructor(private readonly rpc: RpcClient) {}

  @Get()
  @Header(...JSON_TYPE)
  @Endpoint(scheduledPushesEndpoints.list)
  async list(@RequestCaller() caller: Caller, @QueryParams() params: Record<string, unknown>): Promise<string> {
    const { limit, skip } = parseListQuery(params);
    return this.rpc.callForJson(pushRpc.findScheduled, { caller, limit, skip });
  }

  @Get(':id')
  @Endpoint(scheduledPushesEndpoints.get)
  async get(@RequestCaller() caller: Caller, @Param('id') id: string): Promise<JsonObject> {
    const { push } = await this.rpc.call(pushRpc.getScheduled, { caller, id: parseNumber(id) });
    return push;
  }

  @Delete(':id')
  @Endpoint(scheduledPushesEndpoints.cancel)
  cancel(@RequestCaller() caller: Caller, @Param('id') id: string): Promise<JsonObject> {
    return this.rpc.call(pushRpc.cancelScheduled, { caller, id: parseNumber(id) });
  }
}

function parseNumber(id: string): number {
  if (!NUMBER.test(id)) throw appError('NOT_FOUND');
  return Number(id);
}

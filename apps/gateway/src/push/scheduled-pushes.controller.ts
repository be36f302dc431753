import { Controller, Delete, Get, Param } from '@nestjs/common';
import { type Caller, type JsonObject, pushRpc } from '#contracts';
import { appError } from '#errors';
import { RpcClient } from '#messaging';
import { QueryParams, RequestCaller } from '../http/request.decorators.js';
import { parseListQuery } from '../objects/object.params.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { scheduledPushesEndpoints } from './push.endpoints.js';

const NUMBER = /^[1-9]\d{0,14}$/;

/** Pushes that wait for their time. */
@Controller('1.1/scheduledPushMessages')
export class ScheduledPushesController {
  constructor(private readonly rpc: RpcClient) {}

  @Get()
  @Endpoint(scheduledPushesEndpoints.list)
  list(
    @RequestCaller() caller: Caller,
    @QueryParams() params: Record<string, unknown>,
  ): Promise<{ results: JsonObject[] }> {
    const { limit, skip } = parseListQuery(params);
    return this.rpc.call(pushRpc.findScheduled, { caller, limit, skip });
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

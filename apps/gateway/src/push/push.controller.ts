import { Controller, Headers, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { type Caller, type JsonObject, pushRpc, type RpcReply } from '#contracts';
import { RpcClient } from '#messaging';
import { JsonBody, RequestCaller } from '../http/request.decorators.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { pushEndpoints } from './push.endpoints.js';

type Accepted = RpcReply<typeof pushRpc.send>;

/** Pushes. */
@Controller('1.1/push')
export class PushController {
  constructor(private readonly rpc: RpcClient) {}

  @Post()
  @HttpCode(HttpStatus.OK)
  @Endpoint(pushEndpoints.send)
  send(
    @RequestCaller() caller: Caller,
    @JsonBody() body: JsonObject,
    @Headers('x-lc-prod') prod?: string,
  ): Promise<Accepted> {
    return this.rpc.call(pushRpc.send, { caller, body, prod: environmentOf(prod) });
  }

  @Post('devices')
  @HttpCode(HttpStatus.OK)
  @Endpoint(pushEndpoints.sendToDevices)
  sendToDevices(
    @RequestCaller() caller: Caller,
    @JsonBody() body: JsonObject,
    @Headers('x-lc-prod') prod?: string,
  ): Promise<Accepted> {
    return this.rpc.call(pushRpc.sendToDevices, { caller, body, prod: environmentOf(prod) });
  }
}

/** What the header X-LC-Prod says: only `1` is production. */
function environmentOf(header: string | undefined): 'dev' | 'prod' {
  return header === '1' ? 'prod' : 'dev';
}

import { Controller, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { accountsRpc, type Caller, type JsonObject } from '#contracts';
import { RpcClient } from '#messaging';
import { RequestCaller, JsonBody } from '../http/request.decorators.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { RateLimited } from '../rate-limits/rate-limited.decorator.js';
import { loginEndpoints } from './users.endpoints.js';

@Controller('1.1/login')
export class LoginController {
  constructor(private readonly rpc: RpcClient) {}

  @Post()
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(loginEndpoints.logIn)
  async logIn(@RequestCaller() caller: Caller, @JsonBody() credentials: JsonObject): Promise<JsonObject> {
    const { user } = await this.rpc.call(accountsRpc.logIn, { caller, credentials });
    return user;
  }
}

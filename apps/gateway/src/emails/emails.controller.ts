import { Controller, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { type Caller, emailsRpc, type JsonObject } from '#contracts';
import { RpcClient } from '#messaging';
import { JsonBody, RequestCaller } from '../http/request.decorators.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { RateLimited } from '../rate-limits/rate-limited.decorator.js';
import { emailsEndpoints } from './emails.endpoints.js';

/** Mails with links that an application asks for. */
@Controller('1.1')
export class EmailsController {
  constructor(private readonly rpc: RpcClient) {}

  @Post('requestEmailVerify')
  @HttpCode(HttpStatus.OK)
  @RateLimited('messages')
  @Endpoint(emailsEndpoints.requestVerification)
  requestVerification(@RequestCaller() caller: Caller, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.rpc.call(emailsRpc.requestVerification, { caller, body });
  }

  @Post('requestPasswordReset')
  @HttpCode(HttpStatus.OK)
  @RateLimited('messages')
  @Endpoint(emailsEndpoints.requestPasswordReset)
  requestPasswordReset(@RequestCaller() caller: Caller, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.rpc.call(emailsRpc.requestPasswordReset, { caller, body });
  }
}

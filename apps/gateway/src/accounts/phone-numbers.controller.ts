import { Controller, HttpCode, HttpStatus, Inject, Param, Post, Put, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Caller, type JsonObject, phoneNumbersRpc } from '#contracts';
import { RpcClient } from '#messaging';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { JsonBody, RequestCaller } from '../http/request.decorators.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { RateLimited } from '../rate-limits/request-limits.js';
import { phoneNumbersEndpoints } from './phone-numbers.endpoints.js';

/** Codes that are sent to phone numbers, and the operations that need them. */
@Controller('1.1')
export class PhoneNumbersController {
  constructor(
    private readonly rpc: RpcClient,
    @Inject(GATEWAY_CONFIG) private readonly config: GatewayConfig,
  ) {}

  @Post('requestSmsCode')
  @HttpCode(HttpStatus.OK)
  @RateLimited('messages')
  @Endpoint(phoneNumbersEndpoints.requestCode)
  requestCode(@RequestCaller() caller: Caller, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.requestCode, { caller, body });
  }

  @Post('verifySmsCode/:code')
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(phoneNumbersEndpoints.verifyCode)
  verifyCode(
    @RequestCaller() caller: Caller,
    @Param('code') code: string,
    @JsonBody() body: JsonObject,
  ): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.verifyCode, { caller, code, body });
  }

  @Post('usersByMobilePhone')
  @RateLimited('logins', 'signUps')
  @Endpoint(phoneNumbersEndpoints.enter)
  async enter(
    @RequestCaller() caller: Caller,
    @JsonBody() body: JsonObject,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonObject> {
    const { user, isNew } = await this.rpc.call(phoneNumbersRpc.signUpOrLogIn, { caller, body });
    void reply.code(isNew ? HttpStatus.CREATED : HttpStatus.OK);
    void reply.header('location', `${this.config.baseUrl}/1.1/users/${user.objectId}`);
    return user;
  }

  @Post('requestLoginSmsCode')
  @HttpCode(HttpStatus.OK)
  @RateLimited('messages')
  @Endpoint(phoneNumbersEndpoints.requestLoginCode)
  requestLoginCode(@RequestCaller() caller: Caller, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.requestLoginCode, { caller, body });
  }

  @Post('requestMobilePhoneVerify')
  @HttpCode(HttpStatus.OK)
  @RateLimited('messages')
  @Endpoint(phoneNumbersEndpoints.requestVerification)
  requestVerification(@RequestCaller() caller: Caller, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.requestVerification, { caller, body });
  }

  /** The Python SDK uses the misspelt second path. */
  @Post(['verifyMobilePhone/:code', 'verfyMobilePhone/:code'])
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(phoneNumbersEndpoints.verify)
  async verify(
    @RequestCaller() caller: Caller,
    @Param('code') code: string,
    @JsonBody() body: JsonObject,
  ): Promise<JsonObject> {
    const { result } = await this.rpc.call(phoneNumbersRpc.verify, { caller, code, body });
    return result;
  }

  @Post('requestPasswordResetBySmsCode')
  @HttpCode(HttpStatus.OK)
  @RateLimited('messages')
  @Endpoint(phoneNumbersEndpoints.requestPasswordReset)
  requestPasswordReset(@RequestCaller() caller: Caller, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.requestPasswordReset, { caller, body });
  }

  @Put('resetPasswordBySmsCode/:code')
  @RateLimited('logins')
  @Endpoint(phoneNumbersEndpoints.resetPassword)
  resetPassword(
    @RequestCaller() caller: Caller,
    @Param('code') code: string,
    @JsonBody() body: JsonObject,
  ): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.resetPassword, { caller, code, body });
  }

  /** The Go SDK sends POST instead of PUT. */
  @Post('resetPasswordBySmsCode/:code')
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(phoneNumbersEndpoints.resetPassword)
  resetPasswordByPost(
    @RequestCaller() caller: Caller,
    @Param('code') code: string,
    @JsonBody() body: JsonObject,
  ): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.resetPassword, { caller, code, body });
  }

  @Post('requestChangePhoneNumber')
  @HttpCode(HttpStatus.OK)
  @RateLimited('messages')
  @Endpoint(phoneNumbersEndpoints.requestChange)
  requestChange(@RequestCaller() caller: Caller, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.requestChange, { caller, body });
  }

  @Post('changePhoneNumber')
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(phoneNumbersEndpoints.change)
  change(@RequestCaller() caller: Caller, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.rpc.call(phoneNumbersRpc.change, { caller, body });
  }
}

import { Controller, Get, HttpCode, HttpStatus, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Caller, emailsRpc, type JsonObject } from '#contracts';
import { RpcClient } from '#messaging';
import { JsonBody, linkTokenOf, QueryParams, RequestCaller } from '../http/request.decorators.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { RateLimited } from '../rate-limits/request-limits.js';
import { emailsEndpoints, mailLinksEndpoints } from './emails.endpoints.js';
import { answerScript } from './script-answer.js';

/** Requests of an application for mails with links. */
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

/**
 * The operations of mailed links, for an application's own pages. The token identifies application and user, so no other
 * credentials are needed. The GET forms are for scripts that cannot POST; a GET by a mail scanner changes nothing.
 */
@Controller('1.1')
export class MailLinksController {
  constructor(private readonly rpc: RpcClient) {}

  @Post('verifyEmail/:token')
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(mailLinksEndpoints.verify)
  verify(@Param('token') token: string): Promise<JsonObject> {
    return this.#verify(token);
  }

  @Get('verifyEmail/:token')
  @RateLimited('logins')
  @Endpoint(mailLinksEndpoints.verifyByScript)
  verifyByScript(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('token') token: string,
  ): Promise<void> {
    return answerScript(request, reply, () => this.#verify(token));
  }

  @Post('resetPassword/:token')
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(mailLinksEndpoints.resetPassword)
  resetPassword(@Param('token') token: string, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.#resetPassword(token, body['password']);
  }

  @Get('resetPassword/:token')
  @RateLimited('logins')
  @Endpoint(mailLinksEndpoints.resetPasswordByScript)
  resetPasswordByScript(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('token') token: string,
    @QueryParams() query: Record<string, unknown>,
  ): Promise<void> {
    return answerScript(request, reply, () => this.#resetPassword(token, query['password']));
  }

  /** @throws AppError LINK_EXPIRED */
  async #verify(token: string): Promise<Record<string, never>> {
    await this.rpc.call(emailsRpc.verify, { token: linkTokenOf(token) });
    return {};
  }

  /** @throws AppError LINK_EXPIRED, PASSWORD_MISSING, INVALID_PASSWORD */
  async #resetPassword(token: string, password: unknown = null): Promise<Record<string, never>> {
    await this.rpc.call(emailsRpc.resetPassword, { token: linkTokenOf(token), password });
    return {};
  }
}

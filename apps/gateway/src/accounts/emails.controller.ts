import { Controller, Get, HttpCode, HttpStatus, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Caller, emailsRpc, type JsonObject } from '#contracts';
import { RpcClient } from '#messaging';
import { passwordSchema as password } from '#objects';
import { answerScript, callbackName } from '../http/error.filter.js';
import { JsonBody, linkTokenOf, QueryParams, RequestCaller } from '../http/request.decorators.js';
import { describeEndpoints, Endpoint } from '../openapi/endpoint.decorator.js';
import { RateLimited } from '../rate-limits/request-limits.js';

const email = z.looseObject({ email: z.string().describe('The address of a user.') });
const sent = { 200: { description: 'The mail is on its way.', body: z.object({}) } };
const done = { 200: { description: 'Done.', body: z.object({}) } };

const callback = callbackName.describe('The function of the page that receives the result.');
const script = {
  200: {
    description: 'A script that calls `callback` with `{}` or with `{code, error}`.',
    mediaType: 'application/javascript',
  },
};

const REQUEST_ERRORS = ['EMAIL_MISSING', 'INVALID_EMAIL', 'EMAIL_NOT_FOUND', 'TOO_MANY_EMAILS'] as const;
const OPEN_ERRORS = ['TOO_MANY_REQUESTS', 'SERVICE_UNAVAILABLE'] as const;

const emailsEndpoints = describeEndpoints('E-mail', {
  requestVerification: {
    summary: 'Send a mail to verify an address with',
    description: 'If the address is already verified, no mail is sent.',
    credentials: 'application',
    body: email,
    answers: sent,
    errors: [...REQUEST_ERRORS, 'EMAIL_VERIFICATION_OFF'],
  },
  requestPasswordReset: {
    summary: 'Send a mail to reset a password with',
    credentials: 'application',
    body: email,
    answers: sent,
    errors: REQUEST_ERRORS,
  },
  verify: {
    summary: 'Verify an address',
    description: 'With the token of a mailed link, for your own pages. A repeated request changes nothing.',
    credentials: 'none',
    answers: done,
    errors: ['LINK_EXPIRED', ...OPEN_ERRORS],
  },
  verifyByScript: {
    summary: 'Verify an address by a script element',
    description:
      'For page scripts that cannot `POST`. Without `callback` the request changes nothing, because mail scanners follow links.',
    credentials: 'none',
    query: z.object({ callback }),
    answers: script,
    errors: ['NOT_SUPPORTED', 'TOO_MANY_REQUESTS'],
  },
  resetPassword: {
    summary: 'Set a new password',
    description:
      'With the token of a mailed link, for your own pages. Replaces the session token, ends a lockout of the user, and invalidates older links.',
    credentials: 'none',
    body: z.looseObject({ password }),
    answers: done,
    errors: ['LINK_EXPIRED', 'PASSWORD_MISSING', 'INVALID_PASSWORD', ...OPEN_ERRORS],
  },
  resetPasswordByScript: {
    summary: 'Set a new password by a script element',
    description:
      'For page scripts that cannot `POST`. Prefer `POST`: here the URL contains the password, and proxies may log URLs.',
    credentials: 'none',
    query: z.object({ callback, password: z.string().describe('The new password.') }),
    answers: script,
    errors: ['NOT_SUPPORTED', 'TOO_MANY_REQUESTS'],
  },
});

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

@Controller('1.1')
export class MailLinksController {
  constructor(private readonly rpc: RpcClient) {}

  @Post('verifyEmail/:token')
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(emailsEndpoints.verify)
  verify(@Param('token') token: string): Promise<JsonObject> {
    return this.#verify(token);
  }

  @Get('verifyEmail/:token')
  @RateLimited('logins')
  @Endpoint(emailsEndpoints.verifyByScript)
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
  @Endpoint(emailsEndpoints.resetPassword)
  resetPassword(@Param('token') token: string, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.#resetPassword(token, body['password']);
  }

  @Get('resetPassword/:token')
  @RateLimited('logins')
  @Endpoint(emailsEndpoints.resetPasswordByScript)
  resetPasswordByScript(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('token') token: string,
    @QueryParams() query: Record<string, unknown>,
  ): Promise<void> {
    return answerScript(request, reply, () => this.#resetPassword(token, query['password']));
  }

  async #verify(token: string): Promise<Record<string, never>> {
    await this.rpc.call(emailsRpc.verify, { token: linkTokenOf(token) });
    return {};
  }

  async #resetPassword(token: string, password: unknown = null): Promise<Record<string, never>> {
    await this.rpc.call(emailsRpc.resetPassword, { token: linkTokenOf(token), password });
    return {};
  }
}

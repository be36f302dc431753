import { Controller, Get, HttpCode, HttpStatus, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JsonObject } from '#contracts';
import { JsonBody, QueryParams } from '../http/request.decorators.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { RateLimited } from '../rate-limits/rate-limited.decorator.js';
import { mailLinksEndpoints } from './emails.endpoints.js';
import { answerScript } from './script-answer.js';
import { MailLinksService } from './mail-links.service.js';

/**
 * What the links of mails do, for pages of an application's own. The token says which application and user: nothing else is
 * asked for. The GET forms are for page scripts that can send nothing else; what mail scanners fetch changes nothing.
 */
@Controller('1.1')
export class MailLinksController {
  constructor(private readonly links: MailLinksService) {}

  @Post('verifyEmail/:token')
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(mailLinksEndpoints.verify)
  verify(@Param('token') token: string): Promise<JsonObject> {
    return this.links.verify(token);
  }

  @Get('verifyEmail/:token')
  @RateLimited('logins')
  @Endpoint(mailLinksEndpoints.verifyByScript)
  verifyByScript(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('token') token: string,
  ): Promise<void> {
    return answerScript(request, reply, () => this.links.verify(token));
  }

  @Post('resetPassword/:token')
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(mailLinksEndpoints.resetPassword)
  resetPassword(@Param('token') token: string, @JsonBody() body: JsonObject): Promise<JsonObject> {
    return this.links.resetPassword(token, body['password']);
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
    return answerScript(request, reply, () => this.links.resetPassword(token, query['password']));
  }
}

import { Controller, Get, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { RateLimited } from '../rate-limits/request-limits.js';
import { sendPage } from './page-reply.js';
import { type FormRequest, OpenedPage, type PageRequest, SentForm } from './page-request.js';
import { resetPasswordPageEndpoints, verifyEmailPageEndpoints } from './pages.endpoints.js';
import { PagesService } from './pages.service.js';

/** The target of links that verify an address. */
@Controller('pages')
export class VerifyEmailPageController {
  constructor(private readonly pages: PagesService) {}

  @Get('verify-email')
  @RateLimited()
  @Endpoint(verifyEmailPageEndpoints.open)
  async open(@OpenedPage() request: PageRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.pages.openVerifyEmail(request), request.texts);
  }

  @Post('verify-email')
  @RateLimited('logins')
  @Endpoint(verifyEmailPageEndpoints.verify)
  async verify(@SentForm() form: FormRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.pages.verifyEmail(form), form.texts);
  }

  @Post('verify-email/renew')
  @RateLimited('messages')
  @Endpoint(verifyEmailPageEndpoints.renew)
  async renew(@SentForm() form: FormRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.pages.renew('verifyEmail', form), form.texts);
  }
}

/** The target of links that set a new password. */
@Controller('pages')
export class ResetPasswordPageController {
  constructor(private readonly pages: PagesService) {}

  @Get('reset-password')
  @RateLimited()
  @Endpoint(resetPasswordPageEndpoints.open)
  async open(@OpenedPage() request: PageRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.pages.openResetPassword(request), request.texts);
  }

  @Post('reset-password')
  @RateLimited('logins')
  @Endpoint(resetPasswordPageEndpoints.reset)
  async reset(@SentForm() form: FormRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.pages.resetPassword(form), form.texts);
  }

  @Post('reset-password/renew')
  @RateLimited('messages')
  @Endpoint(resetPasswordPageEndpoints.renew)
  async renew(@SentForm() form: FormRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.pages.renew('resetPassword', form), form.texts);
  }
}

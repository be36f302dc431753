import { Controller, Get, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { RateLimited } from '../rate-limits/rate-limited.decorator.js';
import { AskedPage, type FormRequest, type PageRequest, SentForm } from './page-request.js';
import { sendPage } from './page-reply.js';
import { resetPasswordPageEndpoints } from './pages.endpoints.js';
import { ResetPasswordPagesService } from './reset-password-pages.service.js';

/** Where links to set a new password lead to. */
@Controller('pages')
export class ResetPasswordPageController {
  constructor(private readonly pages: ResetPasswordPagesService) {}

  @Get('reset-password')
  @RateLimited()
  @Endpoint(resetPasswordPageEndpoints.open)
  async open(@AskedPage() asked: PageRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.pages.open(asked), asked.texts);
  }

  @Post('reset-password')
  @RateLimited('logins')
  @Endpoint(resetPasswordPageEndpoints.reset)
  async reset(@SentForm() form: FormRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.pages.reset(form), form.texts);
  }

  @Post('reset-password/renew')
  @RateLimited('messages')
  @Endpoint(resetPasswordPageEndpoints.renew)
  async renew(@SentForm() form: FormRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.pages.renew(form), form.texts);
  }
}

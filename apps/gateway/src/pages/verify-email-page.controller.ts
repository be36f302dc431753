import { Controller, Get, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { RateLimited } from '../rate-limits/rate-limited.decorator.js';
import { AskedPage, type FormRequest, type PageRequest, SentForm } from './page-request.js';
import { sendPage } from './page-reply.js';
import { verifyEmailPageEndpoints } from './pages.endpoints.js';
import { VerifyEmailPagesService } from './verify-email-pages.service.js';

/** Where links that verify an address lead to. */
@Controller('pages')
export class VerifyEmailPageController {
  constructor(private readonly pages: VerifyEmailPagesService) {}

  @Get('verify-email')
  @RateLimited()
  @Endpoint(verifyEmailPageEndpoints.open)
  async open(@AskedPage() asked: PageRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.pages.open(asked), asked.texts);
  }

  @Post('verify-email')
  @RateLimited('logins')
  @Endpoint(verifyEmailPageEndpoints.verify)
  async verify(@SentForm() form: FormRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.pages.verify(form), form.texts);
  }

  @Post('verify-email/renew')
  @RateLimited('messages')
  @Endpoint(verifyEmailPageEndpoints.renew)
  async renew(@SentForm() form: FormRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.pages.renew(form), form.texts);
  }
}

import { Controller, Get, HttpStatus, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { emailsRpc, type MailKind, type MailLink } from '#contracts';
import { isAppError } from '#errors';
import { RpcClient } from '#messaging';
import { type Answer, describeEndpoints, Endpoint } from '../openapi/endpoint.decorator.js';
import { RateLimited } from '../rate-limits/request-limits.js';
import { type FormRequest, mistakesIn, newPasswordOf, OpenedPage, type PageRequest, SentForm } from './page-request.js';
import { sendPage } from './page-template.js';
import {
  alreadyVerifiedView,
  askToVerifyView,
  expiredView,
  messageView,
  newPasswordView,
  type PageView,
  verifiedView,
  wasResetView,
} from './page-views.js';

const query = z.object({ token: z.string().optional().describe('The token of the mailed link.') });

const page = (description: string): Answer => ({ description, mediaType: 'text/html' });
const EXPIRED = page('The link has expired. The page offers a new one if that is possible.');
const FAILURES = {
  429: page('Too many requests from one address.'),
  500: page('Internal server error. See the server log for details.'),
  503: page('The service is temporarily unavailable.'),
};
const FORM_FAILURES = {
  ...FAILURES,
  400: page('The form is malformed.'),
  413: page('The form is too long.'),
};
const RENEWAL = {
  summary: 'Send a new link in place of an expired one',
  description: 'The form of the page. It contains the token.',
  credentials: 'none',
  answers: {
    ...FORM_FAILURES,
    200: page('A new mail is on its way.'),
    410: page('The link cannot be renewed.'),
    429: page('Too many mails to this address, or too many requests.'),
  },
  errors: [],
} as const;

const verifyEmailPageEndpoints = describeEndpoints('Pages', {
  open: {
    summary: 'Open the page that verifies an address',
    description: 'The target of mailed links. To open it changes nothing.',
    credentials: 'none',
    query,
    answers: {
      ...FAILURES,
      200: page('A button that verifies the address.'),
      410: EXPIRED,
    },
    errors: [],
  },
  verify: {
    summary: 'Verify an address',
    description: 'The form of the page. It contains the token.',
    credentials: 'none',
    answers: { ...FORM_FAILURES, 200: page('The address is verified.'), 410: EXPIRED },
    errors: [],
  },
  renew: RENEWAL,
});

const resetPasswordPageEndpoints = describeEndpoints('Pages', {
  open: {
    summary: 'Open the page that sets a new password',
    description: 'The target of mailed links. To open it changes nothing.',
    credentials: 'none',
    query,
    answers: { ...FAILURES, 200: page('A form for a new password.'), 410: EXPIRED },
    errors: [],
  },
  reset: {
    summary: 'Set a new password',
    description: 'The form of the page. It contains the token, and the new password twice.',
    credentials: 'none',
    answers: {
      ...FORM_FAILURES,
      200: page('The password is changed.'),
      400: page('The password is too short, the two passwords differ, or the form is malformed.'),
      410: EXPIRED,
    },
    errors: [],
  },
  renew: RENEWAL,
});

/** The pages of one kind of mailed link. To open a page changes nothing, because mail scanners open every link. */
abstract class LinkPageController {
  protected constructor(
    private readonly kind: MailKind,
    protected readonly rpc: RpcClient,
  ) {}

  protected async inspect({ token }: Pick<PageRequest, 'token'>): Promise<MailLink> {
    const { link } = await this.rpc.call(emailsRpc.inspectLink, { kind: this.kind, token });
    return link;
  }

  /** The page of a link that expired since the page was opened. @throws any other error */
  protected async expired(request: PageRequest, thrown: unknown): Promise<PageView> {
    if (!isExpired(thrown)) throw thrown;
    return expiredView(this.kind, await this.inspect(request), request);
  }

  protected renewLink(request: PageRequest): Promise<PageView> {
    const { token, languages, texts } = request;
    return this.rpc.call(emailsRpc.renewLink, { kind: this.kind, token, languages: [...languages] }).then(
      () => ({ icon: 'letter', ...messageView(texts.renewed) }),
      (thrown: unknown) => this.#notRenewed(request, thrown),
    );
  }

  async #notRenewed(request: PageRequest, thrown: unknown): Promise<PageView> {
    const { texts } = request;
    if (isAppError(thrown, 'TOO_MANY_EMAILS'))
      return {
        status: HttpStatus.TOO_MANY_REQUESTS,
        retryAfterSeconds: thrown.retryAfterSeconds,
        icon: 'waiting',
        ...messageView(texts.tooManyMails),
      };
    if (!isExpired(thrown)) throw thrown;
    // The renewal was refused, so another button for it would lead here again, whatever the link says.
    const link = await this.inspect(request);
    return expiredView(this.kind, { ...link, canBeRenewed: false }, request);
  }
}

@Controller('pages')
export class VerifyEmailPageController extends LinkPageController {
  constructor(rpc: RpcClient) {
    super('verifyEmail', rpc);
  }

  @Get('verify-email')
  @RateLimited()
  @Endpoint(verifyEmailPageEndpoints.open)
  async open(@OpenedPage() request: PageRequest, @Res() reply: FastifyReply): Promise<void> {
    const { texts } = request;
    const link = await this.inspect(request);
    if (link.state === 'open') sendPage(reply, askToVerifyView(link, request), texts);
    else if (link.state === 'done') sendPage(reply, alreadyVerifiedView(link, texts), texts);
    else sendPage(reply, expiredView('verifyEmail', link, request), texts);
  }

  @Post('verify-email')
  @RateLimited('logins')
  @Endpoint(verifyEmailPageEndpoints.verify)
  async verify(@SentForm() form: FormRequest, @Res() reply: FastifyReply): Promise<void> {
    const { token, texts } = form;
    const view = await this.rpc.call(emailsRpc.verify, { token }).then(
      ({ link }) => (link.state === 'done' ? alreadyVerifiedView(link, texts) : verifiedView(link, texts)),
      (thrown: unknown) => this.expired(form, thrown),
    );
    sendPage(reply, view, texts);
  }

  @Post('verify-email/renew')
  @RateLimited('messages')
  @Endpoint(verifyEmailPageEndpoints.renew)
  async renew(@SentForm() form: FormRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.renewLink(form), form.texts);
  }
}

@Controller('pages')
export class ResetPasswordPageController extends LinkPageController {
  constructor(rpc: RpcClient) {
    super('resetPassword', rpc);
  }

  @Get('reset-password')
  @RateLimited()
  @Endpoint(resetPasswordPageEndpoints.open)
  async open(@OpenedPage() request: PageRequest, @Res() reply: FastifyReply): Promise<void> {
    const link = await this.inspect(request);
    const view = link.state === 'open' ? newPasswordView(link, request) : expiredView('resetPassword', link, request);
    sendPage(reply, view, request.texts);
  }

  @Post('reset-password')
  @RateLimited('logins')
  @Endpoint(resetPasswordPageEndpoints.reset)
  async reset(@SentForm() form: FormRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.#resetPassword(form), form.texts);
  }

  @Post('reset-password/renew')
  @RateLimited('messages')
  @Endpoint(resetPasswordPageEndpoints.renew)
  async renew(@SentForm() form: FormRequest, @Res() reply: FastifyReply): Promise<void> {
    sendPage(reply, await this.renewLink(form), form.texts);
  }

  async #resetPassword(form: FormRequest): Promise<PageView> {
    // Every page names the account, so the link is read first; the change itself decides whether the link still works.
    const link = await this.inspect(form);
    if (link.state !== 'open') return expiredView('resetPassword', link, form);
    const mistakes = mistakesIn(form.fields);
    if (mistakes !== undefined) return newPasswordView(link, form, mistakes);
    const { password } = newPasswordOf(form.fields);
    return this.rpc.call(emailsRpc.resetPassword, { token: form.token, password }).then(
      () => wasResetView(link, form.texts),
      (thrown: unknown) =>
        isAppError(thrown, 'INVALID_PASSWORD')
          ? newPasswordView(link, form, { password: 'refused' })
          : this.expired(form, thrown),
    );
  }
}

function isExpired(thrown: unknown): boolean {
  return isAppError(thrown, 'LINK_EXPIRED');
}

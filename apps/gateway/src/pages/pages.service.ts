import { HttpStatus, Injectable } from '@nestjs/common';
import { emailsRpc, type MailKind, type MailLink } from '#contracts';
import { AppError } from '#errors';
import { RpcClient } from '#messaging';
import { mistakesIn, newPasswordOf } from './form-body.js';
import type { FormRequest, PageRequest } from './page-request.js';
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

/** The steps behind the pages of mailed links. To open a page changes nothing, because mail scanners open every link. */
@Injectable()
export class PagesService {
  constructor(private readonly rpc: RpcClient) {}

  async openVerifyEmail(request: PageRequest): Promise<PageView> {
    const link = await this.#inspect('verifyEmail', request);
    if (link.state === 'open') return askToVerifyView(link, request);
    return link.state === 'done' ? alreadyVerifiedView(link, request.texts) : expiredView('verifyEmail', link, request);
  }

  async verifyEmail(request: PageRequest): Promise<PageView> {
    try {
      const { link } = await this.rpc.call(emailsRpc.verify, { token: request.token });
      return link.state === 'done' ? alreadyVerifiedView(link, request.texts) : verifiedView(link, request.texts);
    } catch (thrown) {
      return this.#expired('verifyEmail', request, thrown);
    }
  }

  async openResetPassword(request: PageRequest): Promise<PageView> {
    const link = await this.#inspect('resetPassword', request);
    return link.state === 'open' ? newPasswordView(link, request) : expiredView('resetPassword', link, request);
  }

  async resetPassword(form: FormRequest): Promise<PageView> {
    // Every page names the account, so the link is read first; the change itself decides whether the link still works.
    const link = await this.#inspect('resetPassword', form);
    if (link.state !== 'open') return expiredView('resetPassword', link, form);
    const mistakes = mistakesIn(form.fields);
    return mistakes === undefined ? this.#changePassword(link, form) : newPasswordView(link, form, mistakes);
  }

  /** Sends a new link in place of an expired one. */
  async renew(kind: MailKind, request: PageRequest): Promise<PageView> {
    const { token, languages, texts } = request;
    try {
      await this.rpc.call(emailsRpc.renewLink, { kind, token, languages: [...languages] });
      return { icon: 'letter', ...messageView(texts.renewed) };
    } catch (thrown) {
      return this.#notRenewed(kind, request, thrown);
    }
  }

  async #changePassword(link: MailLink, form: FormRequest): Promise<PageView> {
    const { password } = newPasswordOf(form.fields);
    try {
      await this.rpc.call(emailsRpc.resetPassword, { token: form.token, password });
      return wasResetView(link, form.texts);
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.is('INVALID_PASSWORD'))
        return newPasswordView(link, form, { password: 'refused' });
      return this.#expired('resetPassword', form, thrown);
    }
  }

  async #notRenewed(kind: MailKind, request: PageRequest, thrown: unknown): Promise<PageView> {
    const { texts } = request;
    if (thrown instanceof AppError && thrown.is('TOO_MANY_EMAILS'))
      return {
        status: HttpStatus.TOO_MANY_REQUESTS,
        retryAfterSeconds: thrown.retryAfterSeconds,
        icon: 'waiting',
        ...messageView(texts.tooManyMails),
      };
    if (!isExpired(thrown)) throw thrown;
    // The renewal was refused, so another button for it would lead here again, whatever the link says.
    const link = await this.#inspect(kind, request);
    return expiredView(kind, { ...link, canBeRenewed: false }, request);
  }

  /** The page of a link that expired since the page was opened. @throws any other error */
  async #expired(kind: MailKind, request: PageRequest, thrown: unknown): Promise<PageView> {
    if (!isExpired(thrown)) throw thrown;
    return expiredView(kind, await this.#inspect(kind, request), request);
  }

  /** Reads the state of the link, and changes nothing. */
  async #inspect(kind: MailKind, { token }: Pick<PageRequest, 'token'>): Promise<MailLink> {
    const { link } = await this.rpc.call(emailsRpc.inspectLink, { kind, token });
    return link;
  }
}

function isExpired(thrown: unknown): boolean {
  return thrown instanceof AppError && thrown.is('LINK_EXPIRED');
}

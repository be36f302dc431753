import { Injectable } from '@nestjs/common';
import { emailsRpc, type MailLink } from '#contracts';
import { AppError } from '#errors';
import { RpcClient } from '#messaging';
import { LinkPagesService } from './link-pages.service.js';
import { expiredView } from './link.views.js';
import { mistakesIn, newPasswordOf } from './new-password.js';
import type { FormRequest, PageRequest } from './page-request.js';
import type { PageView } from './page-view.js';
import { newPasswordView, wasResetView } from './reset-password.views.js';

const KIND = 'resetPassword';

/** The way of somebody who opens a link to set a new password. */
@Injectable()
export class ResetPasswordPagesService {
  constructor(
    private readonly rpc: RpcClient,
    private readonly links: LinkPagesService,
  ) {}

  /** Changes nothing: mail scanners open every link. */
  async open(asked: PageRequest): Promise<PageView> {
    const link = await this.links.inspect(KIND, asked);
    return link.state === 'open' ? newPasswordView(link, asked) : expiredView(KIND, link, asked);
  }

  async reset(form: FormRequest): Promise<PageView> {
    // Every answer names whose password it is, so it is looked up first; whether the link still works is decided at the change.
    const link = await this.links.inspect(KIND, form);
    if (link.state !== 'open') return expiredView(KIND, link, form);
    const mistakes = mistakesIn(form.fields);
    return mistakes === undefined ? this.#change(link, form) : newPasswordView(link, form, mistakes);
  }

  renew(asked: PageRequest): Promise<PageView> {
    return this.links.renew(KIND, asked);
  }

  async #change(link: MailLink, form: FormRequest): Promise<PageView> {
    const { password } = newPasswordOf(form.fields);
    try {
      await this.rpc.call(emailsRpc.resetPassword, { token: form.token, password });
      return wasResetView(link, form.texts);
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.is('INVALID_PASSWORD'))
        return newPasswordView(link, form, { password: 'refused' });
      return this.links.expired(KIND, form, thrown);
    }
  }
}

import { HttpStatus, Injectable } from '@nestjs/common';
import { emailsRpc, type MailKind, type MailLink } from '#contracts';
import { AppError } from '#errors';
import { RpcClient } from '#messaging';
import { expiredView, messageView } from './link.views.js';
import type { PageRequest } from './page-request.js';
import type { PageView } from './page-view.js';

/** What the pages of both kinds of links have in common. */
@Injectable()
export class LinkPagesService {
  constructor(private readonly rpc: RpcClient) {}

  /** What the link would do now; changes nothing. */
  async inspect(kind: MailKind, { token }: Pick<PageRequest, 'token'>): Promise<MailLink> {
    const { link } = await this.rpc.call(emailsRpc.inspectLink, { kind, token });
    return link;
  }

  /** The page for a link that turned out to have expired. @throws what was thrown for any other reason */
  async expired(kind: MailKind, asked: PageRequest, thrown: unknown): Promise<PageView> {
    if (!(thrown instanceof AppError && thrown.is('LINK_EXPIRED'))) throw thrown;
    return expiredView(kind, await this.inspect(kind, asked), asked);
  }

  /** Sends a new link in place of an expired one. */
  async renew(kind: MailKind, asked: PageRequest): Promise<PageView> {
    const { token, languages, texts } = asked;
    try {
      await this.rpc.call(emailsRpc.renewLink, { kind, token, languages: [...languages] });
      return { sign: 'letter', ...messageView(texts.renewed) };
    } catch (thrown) {
      return this.#notRenewed(kind, asked, thrown);
    }
  }

  async #notRenewed(kind: MailKind, asked: PageRequest, thrown: unknown): Promise<PageView> {
    const { texts } = asked;
    if (thrown instanceof AppError && thrown.is('TOO_MANY_EMAILS'))
      return {
        status: HttpStatus.TOO_MANY_REQUESTS,
        retryAfterSeconds: thrown.retryAfterSeconds,
        sign: 'waiting',
        ...messageView(texts.tooManyMails),
      };
    if (!(thrown instanceof AppError && thrown.is('LINK_EXPIRED'))) throw thrown;
    // It can be renewed no more, whatever it says of itself: a button would only lead here again.
    const link = await this.inspect(kind, asked);
    return expiredView(kind, { ...link, canBeRenewed: false }, asked);
  }
}

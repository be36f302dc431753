import { Injectable } from '@nestjs/common';
import { emailsRpc } from '#contracts';
import { RpcClient } from '#messaging';
import { LinkPagesService } from './link-pages.service.js';
import { expiredView } from './link.views.js';
import type { PageRequest } from './page-request.js';
import type { PageView } from './page-view.js';
import { alreadyVerifiedView, askToVerifyView, verifiedView } from './verify-email.views.js';

const KIND = 'verifyEmail';

/** The way of somebody who opens a link that verifies an address. */
@Injectable()
export class VerifyEmailPagesService {
  constructor(
    private readonly rpc: RpcClient,
    private readonly links: LinkPagesService,
  ) {}

  /** Changes nothing: mail scanners open every link. */
  async open(asked: PageRequest): Promise<PageView> {
    const link = await this.links.inspect(KIND, asked);
    if (link.state === 'open') return askToVerifyView(link, asked);
    return link.state === 'done' ? alreadyVerifiedView(link, asked.texts) : expiredView(KIND, link, asked);
  }

  async verify(asked: PageRequest): Promise<PageView> {
    try {
      const { link } = await this.rpc.call(emailsRpc.verify, { token: asked.token });
      return link.state === 'done' ? alreadyVerifiedView(link, asked.texts) : verifiedView(link, asked.texts);
    } catch (thrown) {
      return this.links.expired(KIND, asked, thrown);
    }
  }

  renew(asked: PageRequest): Promise<PageView> {
    return this.links.renew(KIND, asked);
  }
}

import { Injectable } from '@nestjs/common';
import type { MailKind } from '#contracts';
import { appError } from '#errors';
import { UserWriter } from '../users/user-writer.js';
import { EmailVerificationService } from './email-verification.service.js';
import { LinkInspectionService } from './link-inspection.service.js';
import { MailLinks } from './mail-links.js';
import { MailSender } from './mail-sender.js';

/** Sends new links to those who followed an old one. */
@Injectable()
export class LinkRenewalService {
  constructor(
    private readonly links: MailLinks,
    private readonly inspection: LinkInspectionService,
    private readonly verification: EmailVerificationService,
    private readonly sender: MailSender,
    private readonly writer: UserWriter,
  ) {}

  /** @throws AppError LINK_EXPIRED where no other link may follow; TOO_MANY_EMAILS */
  async renew(kind: MailKind, shown: string, languages: string[]): Promise<void> {
    if (!(await this.inspection.inspect(kind, shown)).canBeRenewed) throw appError('LINK_EXPIRED');
    await this.writer.transaction(async (tx) => {
      const found = await this.links.lock(tx, kind, shown);
      if (!found?.canBeRenewed) throw appError('LINK_EXPIRED');
      const origin = { appId: found.token.appId, languages };
      if (kind === 'verifyEmail') return this.verification.send(tx, origin, found.user);
      if (!(await this.sender.send(tx, origin, kind, found.user))) throw appError('TOO_MANY_EMAILS');
    });
  }
}

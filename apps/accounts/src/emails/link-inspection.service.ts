import { Injectable } from '@nestjs/common';
import type { MailKind, MailLink } from '#contracts';
import { ApplicationsService } from '../applications/applications.service.js';
import { isStillTheirs } from './mail-link.rules.js';
import { type FoundLink, MailLinks } from './mail-links.js';

const UNKNOWN: MailLink = {
  state: 'expired',
  applicationName: null,
  email: null,
  username: null,
  canBeRenewed: false,
};

/** Tells people what a link would do, and changes nothing: programs that look for viruses open links too. */
@Injectable()
export class LinkInspectionService {
  constructor(
    private readonly links: MailLinks,
    private readonly applications: ApplicationsService,
  ) {}

  async inspect(kind: MailKind, shown: string): Promise<MailLink> {
    const found = await this.links.find(kind, shown);
    return found === undefined ? UNKNOWN : this.describe(found);
  }

  /** Names the user only to who has the address that is still the user's. */
  async describe({ token, user, state, canBeRenewed }: FoundLink): Promise<MailLink> {
    const { name, settings } = await this.applications.profileOf(token.appId);
    const isTheirs = isStillTheirs(token, user);
    return {
      state,
      applicationName: name,
      email: isTheirs ? user.email : null,
      username: isTheirs ? user.username : null,
      canBeRenewed: canBeRenewed && (token.kind === 'resetPassword' || settings.verifyEmailOnSignUp),
    };
  }
}

import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject } from '#contracts';
import { appError } from '#errors';
import { LockoutService } from '../lockout/lockout.service.js';
import { NewPasswords } from '../passwords/new-passwords.js';
import { requirePassword } from '../users/user-changes.rules.js';
import { UserWriter } from '../users/user-writer.js';
import { AddresseeService } from './addressee.service.js';
import { requireEmail } from './email-request.rules.js';
import { proven } from './mail-link.rules.js';
import { type FoundLink, MailLinks } from './mail-links.js';
import { MailSender } from './mail-sender.js';

/** Lets users who have their address, but not their password, set a new one. */
@Injectable()
export class PasswordResetService {
  constructor(
    private readonly addressees: AddresseeService,
    private readonly sender: MailSender,
    private readonly links: MailLinks,
    private readonly newPasswords: NewPasswords,
    private readonly lockouts: LockoutService,
    private readonly writer: UserWriter,
  ) {}

  /** POST /1.1/requestPasswordReset. @throws AppError EMAIL_MISSING, INVALID_EMAIL, EMAIL_NOT_FOUND, TOO_MANY_EMAILS */
  async request(caller: Caller, body: JsonObject): Promise<void> {
    await this.addressees.withUser(caller, requireEmail(body), async (tx, user) => {
      if (!(await this.sender.send(tx, caller, 'resetPassword', user))) throw appError('TOO_MANY_EMAILS');
    });
  }

  /**
   * Sets the password and a new session token, and unlocks. The link, and every other one, is dead then: of many at once one gets
   * through.
   * @throws AppError LINK_EXPIRED, PASSWORD_MISSING, INVALID_PASSWORD
   */
  async reset(shown: string, given: unknown): Promise<void> {
    const password = requirePassword(given);
    const { appId, userId } = assertOpen(await this.links.find('resetPassword', shown)).token;
    const prepared = await this.newPasswords.prepare(userId, password, true);
    // Before the password: once the link is used up, nothing could make good a lock that stayed.
    await this.lockouts.clear({ appId, userId });
    await this.writer.transaction(async (tx) => {
      assertOpen(await this.links.lock(tx, 'resetPassword', shown));
      await this.writer.change(tx, { appId }, userId, (user) => ({ ...proven(user), ...prepared.columns }));
    });
  }
}

function assertOpen(link: FoundLink | undefined): FoundLink {
  if (link?.state !== 'open') throw appError('LINK_EXPIRED');
  return link;
}

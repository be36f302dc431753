import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject, MailLink } from '#contracts';
import type { Tx } from '#database';
import { appError } from '#errors';
import { ApplicationsService } from '../applications/applications.service.js';
import type { UserRow } from '../users/user.row.js';
import { UserWriter } from '../users/user-writer.js';
import { AddresseeService } from './addressee.service.js';
import { requireEmail } from './email-request.rules.js';
import { LinkInspectionService } from './link-inspection.service.js';
import { type FoundLink, MailLinks } from './mail-links.js';
import { type MailOrigin, MailSender } from './mail-sender.js';

/** Lets users prove that their address is theirs (specification, States and transitions, emailVerified). */
@Injectable()
export class EmailVerificationService {
  constructor(
    private readonly addressees: AddresseeService,
    private readonly applications: ApplicationsService,
    private readonly links: MailLinks,
    private readonly inspection: LinkInspectionService,
    private readonly sender: MailSender,
    private readonly writer: UserWriter,
  ) {}

  /**
   * POST /1.1/requestEmailVerify. Where there is nothing left to verify, nothing is sent.
   * @throws AppError EMAIL_MISSING, INVALID_EMAIL, EMAIL_VERIFICATION_OFF, EMAIL_NOT_FOUND, TOO_MANY_EMAILS
   */
  async request(caller: Caller, body: JsonObject): Promise<void> {
    const email = requireEmail(body);
    const { verifyEmailOnSignUp, quietProfile } = await this.applications.settingsOf(caller.appId);
    if (!verifyEmailOnSignUp) throw appError('EMAIL_VERIFICATION_OFF');
    await this.addressees.withUser(caller, email, async (tx, user) => {
      if (user.emailVerified !== true) await this.send(tx, caller, user);
      else if (quietProfile) await this.sender.pretend(tx, caller, email);
    });
  }

  /** Sends a link to a user that was locked; whoever was never asked counts as unverified from now on. @throws AppError TOO_MANY_EMAILS */
  async send(tx: Tx, origin: MailOrigin, user: UserRow): Promise<void> {
    const unverified = (current: UserRow) => ({ ...current, emailVerified: false });
    const asked = user.emailVerified === null ? await this.writer.change(tx, origin, user.objectId, unverified) : user;
    if (asked === undefined || !(await this.sender.send(tx, origin, 'verifyEmail', asked)))
      throw appError('TOO_MANY_EMAILS');
  }

  /**
   * What the button of the page does. Of many at once one changes the user.
   * @returns what the link was good for just before
   * @throws AppError LINK_EXPIRED
   */
  async verify(shown: string): Promise<MailLink> {
    const found = await this.writer.transaction((tx) => this.redeem(tx, shown));
    if (found === undefined || found.state === 'expired') throw appError('LINK_EXPIRED');
    return this.inspection.describe(found);
  }

  private async redeem(tx: Tx, shown: string): Promise<FoundLink | undefined> {
    const found = await this.links.lock(tx, 'verifyEmail', shown);
    if (found?.state !== 'open') return found;
    const { appId, userId } = found.token;
    await this.writer.change(tx, { appId }, userId, (current) => ({ ...current, emailVerified: true }));
    return found;
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { type Caller, events, type MailKind, type MailRequest } from '#contracts';
import { Outbox, type Tx } from '#database';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { ApplicationsService } from '../applications/applications.service.js';
import type { UserRow } from '../users/user.row.js';
import { MailAllowancesRepository } from './mail-allowances.repository.js';
import { languagesOf, pageUrlOf } from './mail-request.rules.js';
import { MailTokens } from './mail-tokens.js';
import { mailboxOf } from './mailbox.rules.js';

/** Whose request a mail comes from: its application, the languages that the person reads, and its id. */
export type MailOrigin = Pick<Caller, 'appId' | 'languages'> & Partial<Pick<Caller, 'requestId'>>;

type Addressee = UserRow & { readonly email: string };

/** Asks for mails with links: in the transaction that they follow from, by way of the outbox. */
@Injectable()
export class MailSender {
  constructor(
    private readonly allowances: MailAllowancesRepository,
    private readonly applications: ApplicationsService,
    private readonly tokens: MailTokens,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
    @Inject(ACCOUNTS_CONFIG) private readonly config: AccountsConfig,
  ) {}

  /**
   * @param user as the transaction leaves it
   * @returns false where nothing is sent: there is no address, or its mailbox got too many mails
   */
  async send(tx: Tx, origin: MailOrigin, kind: MailKind, user: UserRow): Promise<boolean> {
    if (!hasAddress(user)) return false;
    if (!(await this.takeAllowance(tx, origin.appId, mailboxOf(user.email)))) return false;
    await this.outbox.add(tx, events.mailRequested, await this.request(tx, origin, kind, user), origin);
    return true;
  }

  /**
   * Does the work of a mail that nobody gets, so that the answer takes as long. It is counted apart: nobody shall use up the
   * mails of a mailbox by asking for others.
   */
  async pretend(tx: Tx, { appId }: MailOrigin, email: string): Promise<void> {
    await this.takeAllowance(tx, appId, `nobody ${mailboxOf(email)}`);
  }

  private async takeAllowance(tx: Tx, appId: string, recipient: string): Promise<boolean> {
    const now = this.clock.now();
    const outcome = await this.allowances.take(tx, { appId, recipient }, now);
    await this.allowances.removeExpired(tx, now);
    return outcome === 'taken';
  }

  private async request(
    tx: Tx,
    { appId, languages = [] }: MailOrigin,
    kind: MailKind,
    user: Addressee,
  ): Promise<MailRequest> {
    const { objectId: userId, email, emailVersion, passwordVersion, username } = user;
    const { name, settings } = await this.applications.profileWithin(tx, appId);
    const now = this.clock.now();
    const expiresAt = new Date(now.getTime() + this.config.linkLifetimesMs[kind]);
    return {
      appId,
      userId,
      kind,
      email,
      username,
      applicationName: name,
      sealedToken: this.tokens.createSealed({ kind, appId, userId, emailVersion, passwordVersion, expiresAt }, user),
      pageUrl: pageUrlOf(kind, settings),
      languages: languagesOf(languages, settings),
      userUpdatedAt: user.updatedAt.toISOString(),
      requestedAt: now.toISOString(),
      expiresAt: expiresAt.toISOString(),
    };
  }
}

function hasAddress(user: UserRow): user is Addressee {
  return user.email !== null;
}

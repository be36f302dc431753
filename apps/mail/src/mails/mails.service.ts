import { Injectable, Logger } from '@nestjs/common';
import { type EventPayload, type events, type MailRequest, sealedTokenContext } from '#contracts';
import { Inbox, type Tx } from '#database';
import { Sealer } from '#security';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import type { NewDelivery } from '../deliveries/delivery.rules.js';
import { catchUpSeconds, isOutdated, type RecipientRow } from './mail.rules.js';
import { RecipientsRepository, type UserRef } from './recipients.repository.js';

/** Queues the mails that other services ask for, as long as their addresses are the users'. */
@Injectable()
export class MailsService {
  private readonly logger = new Logger('Mails');

  constructor(
    private readonly inbox: Inbox,
    private readonly recipients: RecipientsRepository,
    private readonly deliveries: DeliveriesService,
    private readonly sealer: Sealer,
  ) {}

  /** @param id of the event, and of the mail from now on */
  async request(id: string, request: MailRequest, now: Date): Promise<void> {
    const delivery = { ...this.deliveryOf(id, request), delaySeconds: catchUpSeconds(request, now) };
    await this.inbox.once(id, async (tx) => {
      await this.recipients.lock(tx, request);
      const noted = await this.recipients.find(tx, request);
      if (isOutdated(request, noted)) await this.deliveries.addDropped(tx, delivery, reasonOf(noted));
      else await this.deliveries.add(tx, delivery);
    });
  }

  async noteChange(id: string, change: EventPayload<typeof events.emailChanged>): Promise<void> {
    const { email, changedAt } = change;
    await this.inbox.once(id, (tx) => this.note(tx, change, { email, changedAt: new Date(changedAt) }));
  }

  async noteDeletion(id: string, user: EventPayload<typeof events.userDeleted>): Promise<void> {
    const deletion = { email: null, changedAt: new Date(user.deletedAt) };
    await this.inbox.once(id, (tx) => this.note(tx, user, deletion));
  }

  private async note(tx: Tx, { appId, userId }: UserRef, row: RecipientRow): Promise<void> {
    await this.recipients.lock(tx, { appId, userId });
    await this.recipients.note(tx, { appId, userId }, row);
    const dropped = await this.deliveries.dropNoLongerOwed(tx, {
      appId,
      userId,
      recipient: row.email,
      asOf: row.changedAt,
      reason: reasonOf(row),
    });
    if (dropped > 0) this.logger.log(`${dropped} mails to a user of ${appId} are not sent: ${reasonOf(row)}`);
  }

  /** @throws Error where the token was sealed with another secret */
  private deliveryOf(id: string, request: MailRequest): NewDelivery {
    const { appId, userId, kind, email, languages, username, applicationName, pageUrl } = request;
    const token = this.sealer.open(request.sealedToken, sealedTokenContext(request));
    return {
      id,
      appId,
      channel: 'mail',
      kind,
      recipient: email,
      userId,
      asOf: new Date(request.userUpdatedAt),
      content: { kind, languages, username, applicationName, token, pageUrl },
      expiresAt: new Date(request.expiresAt),
    };
  }
}

function reasonOf(noted: RecipientRow | undefined): string {
  return noted?.email === null ? 'the user has no address any more' : 'the user has another address now';
}

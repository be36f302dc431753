import { Controller, Logger } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { events, type MailRequest, sealedTokenContext } from '#contracts';
import { Inbox, type Tx } from '#database';
import { EventHandler, type ReceivedEvent } from '#messaging';
import { Sealer } from '#security';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import type { NewDelivery } from '../deliveries/delivery.rules.js';
import { catchUpSeconds, isOutdated, type RecipientRow } from './mail.rules.js';
import { RecipientsRepository, type UserRef } from './recipients.repository.js';

/** Queues the mails that other services request, and drops those to outdated addresses. */
@Controller()
export class MailsController {
  private readonly logger = new Logger('Mails');

  constructor(
    private readonly inbox: Inbox,
    private readonly recipients: RecipientsRepository,
    private readonly deliveries: DeliveriesService,
    private readonly sealer: Sealer,
    private readonly clock: Clock,
  ) {}

  /** The id of the event becomes the id of the mail. */
  @EventHandler(events.mailRequested)
  async request({ id, payload: request }: ReceivedEvent<typeof events.mailRequested>): Promise<void> {
    const delivery = { ...this.deliveryOf(id, request), delaySeconds: catchUpSeconds(request, this.clock.now()) };
    await this.inbox.once(id, async (tx) => {
      await this.recipients.lock(tx, request);
      const lastChange = await this.recipients.find(tx, request);
      if (isOutdated(request, lastChange)) await this.deliveries.addDropped(tx, delivery, reasonOf(lastChange));
      else await this.deliveries.add(tx, delivery);
    });
  }

  @EventHandler(events.emailChanged)
  async recordEmailChange({ id, payload: change }: ReceivedEvent<typeof events.emailChanged>): Promise<void> {
    const { email, changedAt } = change;
    await this.inbox.once(id, (tx) => this.record(tx, change, { email, changedAt: new Date(changedAt) }));
  }

  @EventHandler(events.userDeleted)
  async recordUserDeletion({ id, payload: user }: ReceivedEvent<typeof events.userDeleted>): Promise<void> {
    const deletion = { email: null, changedAt: new Date(user.deletedAt) };
    await this.inbox.once(id, (tx) => this.record(tx, user, deletion));
  }

  private async record(tx: Tx, { appId, userId }: UserRef, row: RecipientRow): Promise<void> {
    await this.recipients.lock(tx, { appId, userId });
    await this.recipients.record(tx, { appId, userId }, row);
    const dropped = await this.deliveries.dropOutdated(tx, {
      appId,
      userId,
      recipient: row.email,
      asOf: row.changedAt,
      reason: reasonOf(row),
    });
    if (dropped > 0)
      this.logger.log(`${dropped} mails to a user of application ${appId} were dropped: ${reasonOf(row)}`);
  }

  /** @throws Error if the token was sealed with another secret */
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

function reasonOf(lastChange: RecipientRow | undefined): string {
  return lastChange?.email === null
    ? 'the user no longer has an email address'
    : 'the email address of the user has changed';
}

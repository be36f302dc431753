import { randomUUID } from 'node:crypto';
import { Controller, Inject, Logger } from '@nestjs/common';
import { Clock } from '#bootstrap';
import {
  events,
  type MailRequest,
  operatorMailsRpc,
  type RpcData,
  type RpcReply,
  sealedInvitationContext,
  sealedTokenContext,
} from '#contracts';
import { Inbox, type Tx } from '#database';
import { EventHandler, type ReceivedEvent, RpcHandler } from '#messaging';
import { Sealer } from '#security';
import { RecipientsRepository, type UserRef } from '../deliveries/deliveries.repository.js';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import type { NewDelivery, RecipientRow } from '../deliveries/delivery.rules.js';
import { MAIL_CONFIG, type MailConfig, MailDatabase } from '../mail.config.js';
import { catchUpSeconds, INVITATION, isOutdated } from './mail.rules.js';

type Rpc = typeof operatorMailsRpc;

/** In place of an application: no application has this id. */
const OPERATORS = '.operators';

@Controller()
export class MailsController {
  readonly #logger = new Logger('Mails');

  constructor(
    private readonly inbox: Inbox,
    private readonly recipients: RecipientsRepository,
    private readonly deliveries: DeliveriesService,
    private readonly sealer: Sealer,
    private readonly clock: Clock,
    private readonly database: MailDatabase,
    @Inject(MAIL_CONFIG) private readonly config: Pick<MailConfig, 'smtp'>,
  ) {}

  @EventHandler(events.mailRequested)
  async request({ id, payload: request }: ReceivedEvent<typeof events.mailRequested>): Promise<void> {
    const delivery = { ...this.#deliveryOf(id, request), delaySeconds: catchUpSeconds(request, this.clock.now()) };
    await this.inbox.once(id, async (tx) => {
      await this.recipients.lock(tx, request);
      const lastChange = await this.recipients.find(tx, request);
      if (isOutdated(request, lastChange)) await this.deliveries.addDropped(tx, delivery, reasonOf(lastChange));
      else await this.deliveries.add(tx, delivery);
    });
  }

  /** Without an SMTP server the link would only be printed and written to a file. */
  @RpcHandler(operatorMailsRpc.invite)
  async inviteOperator(invitation: RpcData<Rpc['invite']>): Promise<RpcReply<Rpc['invite']>> {
    if (this.config.smtp === undefined) return { isQueued: false };
    const { email, invitedBy, language, sealedLink, expiresAt } = invitation;
    const link = this.sealer.open(sealedLink, sealedInvitationContext(email));
    await this.database.transaction((tx) =>
      this.deliveries.add(tx, {
        id: randomUUID(),
        appId: OPERATORS,
        channel: 'mail',
        kind: INVITATION,
        recipient: email,
        userId: null,
        asOf: null,
        content: { language, invitedBy, link },
        expiresAt: new Date(expiresAt),
      }),
    );
    return { isQueued: true };
  }

  @EventHandler(events.emailChanged)
  async recordEmailChange({ id, payload: change }: ReceivedEvent<typeof events.emailChanged>): Promise<void> {
    const { email, changedAt } = change;
    await this.inbox.once(id, (tx) => this.#record(tx, change, { email, changedAt: new Date(changedAt) }));
  }

  @EventHandler(events.userDeleted)
  async recordUserDeletion({ id, payload: user }: ReceivedEvent<typeof events.userDeleted>): Promise<void> {
    const deletion = { email: null, changedAt: new Date(user.deletedAt) };
    await this.inbox.once(id, (tx) => this.#record(tx, user, deletion));
  }

  async #record(tx: Tx, { appId, userId }: UserRef, row: RecipientRow): Promise<void> {
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
      this.#logger.log(`${dropped} mails to a user of application ${appId} were dropped: ${reasonOf(row)}`);
  }

  #deliveryOf(id: string, request: MailRequest): NewDelivery {
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

import { Injectable } from '@nestjs/common';
import { sealedCodeContext, type TextMessageRequest } from '#contracts';
import { Inbox } from '#database';
import { Sealer } from '#security';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { textOf } from './text-message.rules.js';

/** Queues the text messages that other services request. */
@Injectable()
export class TextMessagesService {
  constructor(
    private readonly inbox: Inbox,
    private readonly deliveries: DeliveriesService,
    private readonly sealer: Sealer,
  ) {}

  /**
   * @param id the id of the event, which becomes the id of the message
   * @throws Error if the code was sealed with another secret
   */
  async request(id: string, request: TextMessageRequest): Promise<void> {
    const { appId, mobilePhoneNumber: recipient, purpose, smsType, expiresAt } = request;
    const code = this.sealer.open(request.sealedCode, sealedCodeContext(request));
    const { template = null, sign = null, variables = null } = request;
    const given = Object.fromEntries(
      Object.entries({ template, sign, variables }).filter(([, value]) => value !== null),
    );
    await this.inbox.once(id, (tx) =>
      this.deliveries.add(tx, {
        id,
        appId,
        channel: 'sms',
        kind: purpose,
        recipient,
        userId: null,
        asOf: null,
        content: { text: textOf(request, code), code, smsType, ...given },
        expiresAt: new Date(expiresAt),
      }),
    );
  }
}

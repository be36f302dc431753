import { Injectable } from '@nestjs/common';
import { MessageAllowancesRepository } from '../message-allowances/message-allowances.repository.js';

/** How many mails a mailbox may get: 5 in 10 minutes, 20 in 24 hours. */
@Injectable()
export class MailAllowancesRepository extends MessageAllowancesRepository {
  constructor() {
    super({
      table: 'mail_allowances',
      recipientColumn: 'mailbox',
      short: { most: 5, within: '10 minutes' },
      long: { most: 20, within: '24 hours' },
    });
  }
}

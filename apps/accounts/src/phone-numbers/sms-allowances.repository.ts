import { Injectable } from '@nestjs/common';
import { MessageAllowancesRepository } from '../message-allowances/message-allowances.repository.js';

/** How many messages a phone number may get: one in 10 seconds, 10 in 24 hours. */
@Injectable()
export class SmsAllowancesRepository extends MessageAllowancesRepository {
  constructor() {
    super({
      table: 'sms_allowances',
      recipientColumn: 'mobile_phone_number',
      short: { most: 1, within: '10 seconds' },
      long: { most: 10, within: '24 hours' },
    });
  }
}

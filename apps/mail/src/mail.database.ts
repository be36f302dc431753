import { Database, type DatabaseOptions, InboxMessageEntity } from '#database';
import { AllowanceEntity, DeliveryEntity } from './deliveries/delivery.entity.js';
import { RecipientEntity } from './mails/recipients.repository.js';
import {
  AddDeliveryTraces1796300100000,
  CreateDeliveries1796000000000,
  CreateTemplates1796000100000,
  CreateTextMessageProviders1796000200000,
  LogAttempts1796790000000,
} from './migrations/0.1.0-mail.js';
import { TemplateEntity } from './templates/template.entity.js';
import { TextMessageProviderEntity } from './text-messages/text-message-providers.repository.js';

/** A class of its own, so that one process can inject the databases of several services. */
export class MailDatabase extends Database {}

/** The schema and migrations, for `gatepost migrate` and for the service. */
export function mailDatabase(url: string, poolSize: number): DatabaseOptions {
  return {
    url,
    poolSize,
    schema: 'mail',
    applicationName: 'gatepost-mail',
    entities: [
      DeliveryEntity,
      AllowanceEntity,
      RecipientEntity,
      TemplateEntity,
      TextMessageProviderEntity,
      InboxMessageEntity,
    ],
    migrations: [
      CreateDeliveries1796000000000,
      CreateTemplates1796000100000,
      CreateTextMessageProviders1796000200000,
      AddDeliveryTraces1796300100000,
      LogAttempts1796790000000,
    ],
  };
}

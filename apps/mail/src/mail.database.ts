import { Database, type DatabaseOptions, InboxMessageEntity } from '#database';
import { AllowanceEntity, DeliveryEntity } from './deliveries/delivery.entity.js';
import { RecipientEntity } from './mails/recipients.repository.js';
import { CreateDeliveries1796000000000 } from './migrations/1796000000000-create-deliveries.js';
import { CreateTemplates1796000100000 } from './migrations/1796000100000-create-templates.js';
import { CreateTextMessageProviders1796000200000 } from './migrations/1796000200000-create-text-message-providers.js';
import { AddDeliveryTraces1796300100000 } from './migrations/1796300100000-add-delivery-traces.js';
import { LogAttempts1796790000000 } from './migrations/1796790000000-log-attempts.js';
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

import { type DatabaseOptions, InboxMessageEntity } from '#database';
import { AllowanceEntity, DeliveryEntity, RecipientEntity } from './deliveries/delivery.entity.js';
import * as migrations from './migrations/0.1.0-mail.js';
import { TemplateEntity } from './templates/templates.repository.js';
import { TextMessageProviderEntity } from './text-messages/text-message-providers.repository.js';

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
    migrations: Object.values(migrations),
  };
}

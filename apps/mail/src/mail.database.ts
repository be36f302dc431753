import { type DatabaseOptions, InboxMessageEntity } from '#database';
import { AllowanceEntity, DeliveryEntity, RecipientEntity } from './deliveries/delivery.entity.js';
import {
  AddDeliveryTraces1796300100000,
  CreateDeliveries1796000000000,
  CreateTemplates1796000100000,
  CreateTextMessageProviders1796000200000,
  LogAttempts1796790000000,
} from './migrations/0.1.0-mail.js';
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
    migrations: [
      CreateDeliveries1796000000000,
      CreateTemplates1796000100000,
      CreateTextMessageProviders1796000200000,
      AddDeliveryTraces1796300100000,
      LogAttempts1796790000000,
    ],
  };
}

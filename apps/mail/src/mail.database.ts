import { Database, type DatabaseOptions } from '#database';
import { CreateDeliveries1796000000000 } from './migrations/1796000000000-create-deliveries.js';
import { CreateTemplates1796000100000 } from './migrations/1796000100000-create-templates.js';
import { CreateTextMessageProviders1796000200000 } from './migrations/1796000200000-create-text-message-providers.js';
import { AddDeliveryTraces1796300100000 } from './migrations/1796300100000-add-delivery-traces.js';

/** The database of mail, beside those of other services where one process runs them all. */
export class MailDatabase extends Database {}

/** Where the mail service keeps its data; `gatepost migrate` and the service itself use it. */
export function mailDatabase(url: string, poolSize: number): DatabaseOptions {
  return {
    url,
    poolSize,
    schema: 'mail',
    applicationName: 'gatepost-mail',
    migrations: [
      CreateDeliveries1796000000000,
      CreateTemplates1796000100000,
      CreateTextMessageProviders1796000200000,
      AddDeliveryTraces1796300100000,
    ],
  };
}

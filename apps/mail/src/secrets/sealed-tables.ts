import type { SealedTable } from '#security';
import { contentContext } from '../deliveries/delivery.rules.js';
import { providerContext } from '../text-message-providers/text-message-providers.service.js';

/** All that mail has sealed. */
export const SEALED_TABLES: readonly SealedTable[] = [
  {
    name: 'deliveries',
    table: 'mail.deliveries',
    key: { id: 'uuid' },
    values: [{ sql: 't.sealed_content', column: 'sealed_content', context: ({ id = '' }) => contentContext(id) }],
  },
  {
    name: 'providers of text messages',
    table: 'mail.text_message_providers',
    key: { app_id: 'text' },
    values: [
      {
        sql: 't.sealed_secrets',
        column: 'sealed_secrets',
        context: ({ app_id: appId = '' }) => providerContext(appId),
      },
    ],
  },
];

import type { SealedTable } from '#security';
import { credentialsContext } from '../credentials/credentials.service.js';

/** All that auth-linking has sealed. */
export const SEALED_TABLES: readonly SealedTable[] = [
  {
    name: 'credentials of platforms',
    table: 'auth_linking.platform_credentials',
    key: { app_id: 'text', platform: 'text' },
    values: [
      {
        sql: 't.sealed_secrets',
        column: 'sealed_secrets',
        context: ({ app_id: appId = '', platform = '' }) => credentialsContext(appId, platform),
      },
    ],
  },
];

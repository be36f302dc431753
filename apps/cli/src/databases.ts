import type { DatabaseOptions } from '#database';
import { accountsDatabase } from '../../accounts/src/accounts.database.js';
import { authLinkingDatabase } from '../../auth-linking/src/auth-linking.database.js';
import { mailDatabase } from '../../mail/src/mail.database.js';
import { pushDatabase } from '../../push-delivery/src/push-delivery.database.js';

/** Where each service's database is. */
export interface DatabaseUrls {
  readonly accounts: string;
  readonly authLinking: string;
  readonly mail: string;
  readonly push: string;
}

/** The databases of all services, in the order in which they are migrated. */
export function databasesAt({ accounts, authLinking, mail, push }: DatabaseUrls): DatabaseOptions[] {
  return [
    accountsDatabase(accounts, 1),
    authLinkingDatabase(authLinking, 1),
    mailDatabase(mail, 1),
    pushDatabase(push, 1),
  ];
}

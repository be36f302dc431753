import { Command } from 'commander';
import { StartError } from '#bootstrap';
import { migrate } from '#database';
import { messageOf } from '#errors';
import { accountsDatabase } from '../../../accounts/src/accounts.database.js';
import { authLinkingDatabase } from '../../../auth-linking/src/auth-linking.database.js';
import { mailDatabase } from '../../../mail/src/mail.database.js';
import { pushDatabase } from '../../../push-delivery/src/push-delivery.database.js';
import { print } from '../terminal.js';

/** Where each service's database is. */
export interface DatabaseUrls {
  readonly accounts: string;
  readonly authLinking: string;
  readonly mail: string;
  readonly push: string;
}

/** `gatepost migrate`: the one command that opens databases. */
export function migrateCommand(databaseUrls: () => DatabaseUrls): Command {
  return new Command('migrate')
    .description('bring the databases of all services to the newest version (before a rollout)')
    .option('--quiet', 'say nothing where all is well')
    .action(async ({ quiet }: { quiet?: true }) => {
      const { accounts, authLinking, mail, push } = databaseUrls();
      const databases = [
        accountsDatabase(accounts, 1),
        authLinkingDatabase(authLinking, 1),
        mailDatabase(mail, 1),
        pushDatabase(push, 1),
      ];
      for (const database of databases) {
        const applied = await migrate(database).catch((cause: unknown) => {
          throw new StartError(`The schema ${database.schema} cannot be migrated: ${messageOf(cause)}`, { cause });
        });
        if (!quiet) print(`${database.schema}: ${applied.length === 0 ? 'up to date' : applied.join(', ')}`);
      }
    });
}

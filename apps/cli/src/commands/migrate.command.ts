import { Command } from 'commander';
import { StartError } from '#bootstrap';
import { migrate } from '#database';
import { messageOf } from '#errors';
import { accountsDatabase } from '../../../accounts/src/accounts.database.js';
import { print } from '../terminal.js';

/** `gatepost migrate`: the one command that opens databases. */
export function migrateCommand(databaseUrls: () => { accounts: string }): Command {
  return new Command('migrate')
    .description('bring the databases of all services to the newest version (before a rollout)')
    .option('--quiet', 'say nothing where all is well')
    .action(async ({ quiet }: { quiet?: true }) => {
      const databases = [accountsDatabase(databaseUrls().accounts, 1)];
      for (const database of databases) {
        const applied = await migrate(database).catch((cause: unknown) => {
          throw new StartError(`The schema ${database.schema} cannot be migrated: ${messageOf(cause)}`, { cause });
        });
        if (!quiet) print(`${database.schema}: ${applied.length === 0 ? 'up to date' : applied.join(', ')}`);
      }
    });
}

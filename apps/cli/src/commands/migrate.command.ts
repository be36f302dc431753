import { Command } from 'commander';
import { environment, loadConfig, StartError } from '#bootstrap';
import { type DatabaseOptions, isUnreached, migrate, migrationStatus } from '#database';
import { reasonOf } from '#errors';
import { accountsDatabase } from '../../../accounts/src/accounts.database.js';
import { authLinkingDatabase } from '../../../auth-linking/src/auth-linking.database.js';
import { consoleDatabase } from '../../../console/src/console.database.js';
import { mailDatabase } from '../../../mail/src/mail.database.js';
import { pushDatabase } from '../../../push-delivery/src/push-delivery.database.js';
import { print, reportFailure } from '../terminal.js';

export interface DatabaseUrls {
  readonly accounts: string;
  readonly authLinking: string;
  readonly console: string;
  readonly mail: string;
  readonly push: string;
}

const databaseEnvironment = environment.pick({
  DATABASE_URL: true,
  GATEPOST_ACCOUNTS_DATABASE_URL: true,
  GATEPOST_AUTH_LINKING_DATABASE_URL: true,
  GATEPOST_CONSOLE_DATABASE_URL: true,
  GATEPOST_MAIL_DATABASE_URL: true,
  GATEPOST_PUSH_DATABASE_URL: true,
});

interface MigrateOptions {
  readonly quiet?: true;
  readonly status?: true;
}

export function migrateCommand(databaseUrls: () => DatabaseUrls): Command {
  return new Command('migrate')
    .description('migrate the databases of all services to the newest version (before a rollout)')
    .option('--quiet', 'print nothing on success')
    .option('--status', 'only show pending migrations; exit status 1 if there are any')
    .action(async ({ quiet, status }: MigrateOptions) => {
      for (const database of databasesAt(databaseUrls())) {
        const work = status ? printStatus(database) : bringUpToDate(database, quiet === true);
        await work.catch((cause: unknown) => {
          const verb = status ? 'inspected' : 'migrated';
          const reason = withRemedy(cause, database);
          throw new StartError(`The schema ${database.schema} cannot be ${verb}: ${reason}`, { cause });
        });
      }
    });
}

function withRemedy(cause: unknown, { schema }: DatabaseOptions): string {
  const reason = reasonOf(cause);
  if (!isUnreached(cause)) return reason;
  const own = `GATEPOST_${schema.toUpperCase()}_DATABASE_URL`;
  return `${reason}. Check that DATABASE_URL (or ${own}) names a running PostgreSQL, a login and a database that exists.`;
}

export function databasesAt({ accounts, authLinking, console, mail, push }: DatabaseUrls): DatabaseOptions[] {
  return [
    accountsDatabase(accounts, 1),
    authLinkingDatabase(authLinking, 1),
    mailDatabase(mail, 1),
    pushDatabase(push, 1),
    consoleDatabase(console, 1),
  ];
}

async function bringUpToDate(database: DatabaseOptions, isQuiet: boolean): Promise<void> {
  const applied = await migrate(database);
  if (!isQuiet) print(`${database.schema}: ${applied.length === 0 ? 'up to date' : applied.join(', ')}`);
}

async function printStatus(database: DatabaseOptions): Promise<void> {
  const { pending, newer } = await migrationStatus(database);
  if (pending.length > 0) reportFailure();
  const news = newer.length === 0 ? '' : `; of a newer version: ${newer.join(', ')}`;
  print(`${database.schema}: ${pending.length === 0 ? 'up to date' : `pending: ${pending.join(', ')}`}${news}`);
}

export function databaseUrlsIn(variables: NodeJS.ProcessEnv): DatabaseUrls {
  const env = loadConfig(databaseEnvironment, variables);
  return {
    accounts: env.GATEPOST_ACCOUNTS_DATABASE_URL ?? env.DATABASE_URL,
    authLinking: env.GATEPOST_AUTH_LINKING_DATABASE_URL ?? env.DATABASE_URL,
    console: env.GATEPOST_CONSOLE_DATABASE_URL ?? env.DATABASE_URL,
    mail: env.GATEPOST_MAIL_DATABASE_URL ?? env.DATABASE_URL,
    push: env.GATEPOST_PUSH_DATABASE_URL ?? env.DATABASE_URL,
  };
}

import { Logger } from '@nestjs/common';
import { Command } from 'commander';
import { StartError } from '#bootstrap';
import { ConfigError, loadConfig } from '#config';
import { AppError } from '#errors';
import { databaseEnvironment, keysEnvironment, serverEnvironment } from './cli.config.js';
import { appsCommand, type GivenKeys } from './commands/apps.command.js';
import { lockoutsCommand } from './commands/lockouts.command.js';
import { migrateCommand } from './commands/migrate.command.js';
import { permissionsCommand } from './commands/permissions.command.js';
import { connectToServer, type WithServer } from './operator-connection.js';

Logger.overrideLogger(false);

const program = new Command('gatepost')
  .usage('<command>')
  .description('The operator\'s command line. Run it with "npm run gatepost -- <command>".')
  .addHelpText(
    'after',
    `
It speaks to a running standalone server through its data folder (GATEPOST_DATA_DIR, ./data by default), or, where
AMQP_URL is set, to the services behind that message broker. "migrate" opens DATABASE_URL itself.`,
  )
  .addCommand(appsCommand(withServer, givenKeys))
  .addCommand(lockoutsCommand(withServer))
  .addCommand(migrateCommand(databaseUrls))
  .addCommand(permissionsCommand(withServer));

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${describe(error)}\n`);
  process.exitCode = 1;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AppError && error.is('SERVICE_UNAVAILABLE') && error.cause !== undefined)
    return `No accounts service answers (GATEPOST_NAMESPACE names which deployment is meant): ${error.message}`;
  const isPlain = error instanceof StartError || error instanceof ConfigError || error instanceof AppError;
  return isPlain ? error.message : (error.stack ?? error.message);
}

async function withServer(work: Parameters<WithServer>[0]): Promise<void> {
  const env = loadConfig(serverEnvironment, process.env);
  const connection = await connectToServer({
    amqpUrl: env.AMQP_URL,
    namespace: env.GATEPOST_NAMESPACE,
    dataDirectory: env.GATEPOST_DATA_DIR,
  });
  try {
    await work(connection.rpc);
  } finally {
    await connection.close();
  }
}

function databaseUrls(): { accounts: string } {
  const env = loadConfig(databaseEnvironment, process.env);
  return { accounts: env.GATEPOST_ACCOUNTS_DATABASE_URL ?? env.DATABASE_URL };
}

function givenKeys(): GivenKeys {
  const env = loadConfig(keysEnvironment, process.env);
  return { appKey: env.GATEPOST_APP_KEY?.reveal(), masterKey: env.GATEPOST_MASTER_KEY?.reveal() };
}

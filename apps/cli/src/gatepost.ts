import { Command, CommanderError } from 'commander';
import { ConfigError, environment, loadConfig, StartError } from '#bootstrap';
import { AppError, isAppError } from '#errors';
import { DeadLetters } from '#messaging';
import { appsCommand, givenKeysIn, permissionsCommand } from './commands/apps.command.js';
import { consoleCommand } from './commands/console.command.js';
import { platformsCommand, textMessagesCommand } from './commands/credentials.command.js';
import { deadLettersCommand, type WithDeadLetters } from './commands/dead-letters.command.js';
import { indexesCommand, searchCommand } from './commands/indexes.command.js';
import { lockoutsCommand } from './commands/lockouts.command.js';
import { mailsCommand } from './commands/mails.command.js';
import { databaseUrlsIn, migrateCommand } from './commands/migrate.command.js';
import { pushCommand } from './commands/push.command.js';
import { templatesCommand } from './commands/templates.command.js';
import { vendorsCommand } from './commands/vendors.command.js';
import { doctorCommand } from './doctor/doctor.command.js';
import { importCommand } from './import/import.command.js';
import { brokerError, connectToServer, SilentServiceError, type WithServer } from './operator-connection.js';
import { rescueCommand } from './rescue/rescue.command.js';
import { secretsCommand } from './secrets/secrets.command.js';
import { runCommand, type Terminal } from './terminal.js';

const serverEnvironment = environment
  .pick({ GATEPOST_DATA_DIR: true, GATEPOST_NAMESPACE: true })
  // Without its default: whether the operator names a broker selects the server.
  .extend({ AMQP_URL: environment.shape.AMQP_URL.unwrap().optional() });

const PLAIN_ERRORS = [AppError, ConfigError, SilentServiceError, StartError];

const HELP = `
It connects to a running standalone server through its data folder (GATEPOST_DATA_DIR, ./data by default) or, if AMQP_URL
is set, to the services behind that message broker. "migrate" connects to DATABASE_URL itself; "rescue" needs no server.`;

/** @returns the exit status: 0 success, 1 failure (reason on standard error), 2 partial success */
export async function runGatepost(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = new Command('gatepost')
    // Options after a command are its own.
    .enablePositionalOptions()
    .usage('<command>')
    .description('The operator\'s command line. Run it with "npm run gatepost -- <command>".')
    .addHelpText('after', HELP);
  for (const command of commandsOf(terminal.env)) program.addCommand(command);
  writeTo(terminal, program);
  return runCommand(
    terminal,
    () => program.parseAsync(args, { from: 'user' }),
    (error) => {
      if (error instanceof CommanderError) return error.exitCode;
      terminal.writeError(`${describe(error)}\n`);
      return 1;
    },
  );
}

function commandsOf(env: NodeJS.ProcessEnv): Command[] {
  const withServer = serverOf(env);
  return [
    appsCommand(withServer, () => givenKeysIn(env)),
    consoleCommand(withServer),
    deadLettersCommand(deadLettersOf(env)),
    doctorCommand(withServer),
    importCommand(withServer),
    indexesCommand(withServer),
    lockoutsCommand(withServer),
    mailsCommand(withServer),
    migrateCommand(() => databaseUrlsIn(env)),
    permissionsCommand(withServer),
    platformsCommand(withServer),
    pushCommand(withServer),
    rescueCommand(),
    searchCommand(withServer),
    secretsCommand(withServer),
    templatesCommand(withServer),
    textMessagesCommand(withServer),
    vendorsCommand(withServer),
  ];
}

/** Commands added by addCommand do not inherit these settings. */
function writeTo(terminal: Terminal, command: Command): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => {
      terminal.writeOutput(text);
    },
    writeErr: (text) => {
      terminal.writeError(text);
    },
  });
  for (const each of command.commands) writeTo(terminal, each);
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (isAppError(error, 'SERVICE_UNAVAILABLE')) return `${error.message} See the log of the service for the reason.`;
  return PLAIN_ERRORS.some((plain) => error instanceof plain) ? error.message : (error.stack ?? error.message);
}

function serverOf(variables: NodeJS.ProcessEnv): WithServer {
  return async (work) => {
    const env = loadConfig(serverEnvironment, variables);
    const connection = await connectToServer({
      amqpUrl: env.AMQP_URL,
      namespace: env.GATEPOST_NAMESPACE,
      dataDirectory: env.GATEPOST_DATA_DIR,
    });
    try {
      await work(connection.rpc, connection.deployment);
    } finally {
      await connection.close();
    }
  };
}

function deadLettersOf(variables: NodeJS.ProcessEnv): WithDeadLetters {
  return async (work) => {
    const { AMQP_URL: url, GATEPOST_NAMESPACE: namespace } = loadConfig(serverEnvironment, variables);
    if (url === undefined)
      throw new StartError(
        'Name the message broker of the services in AMQP_URL. The standalone server has no dead letters.',
      );
    await serverOf(variables)(async (rpc) => {
      const letters = await DeadLetters.open(url, namespace).catch((cause: unknown) => {
        throw brokerError(cause);
      });
      try {
        await work(letters, rpc);
      } finally {
        await letters.close();
      }
    });
  };
}

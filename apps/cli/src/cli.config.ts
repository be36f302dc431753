import { environment, loadConfig } from '#bootstrap';
import type { GivenKeys } from './commands/apps.command.js';
import type { DatabaseUrls } from './commands/migrate.command.js';

/** The variables that locate the running server. */
export const serverEnvironment = environment
  .pick({ GATEPOST_DATA_DIR: true, GATEPOST_NAMESPACE: true })
  // Without its default: whether the operator names a broker selects the server.
  .extend({ AMQP_URL: environment.shape.AMQP_URL.unwrap().optional() });

const keysEnvironment = environment.pick({ GATEPOST_APP_KEY: true, GATEPOST_MASTER_KEY: true });

const databaseEnvironment = environment.pick({
  DATABASE_URL: true,
  GATEPOST_ACCOUNTS_DATABASE_URL: true,
  GATEPOST_AUTH_LINKING_DATABASE_URL: true,
  GATEPOST_MAIL_DATABASE_URL: true,
  GATEPOST_PUSH_DATABASE_URL: true,
});

/** The keys that `apps create` gives a new application. @throws ConfigError */
export function givenKeysIn(variables: NodeJS.ProcessEnv): GivenKeys {
  const env = loadConfig(keysEnvironment, variables);
  return { appKey: env.GATEPOST_APP_KEY?.reveal(), masterKey: env.GATEPOST_MASTER_KEY?.reveal() };
}

/** The databases that `migrate` opens. @throws ConfigError */
export function databaseUrlsIn(variables: NodeJS.ProcessEnv): DatabaseUrls {
  const env = loadConfig(databaseEnvironment, variables);
  return {
    accounts: env.GATEPOST_ACCOUNTS_DATABASE_URL ?? env.DATABASE_URL,
    authLinking: env.GATEPOST_AUTH_LINKING_DATABASE_URL ?? env.DATABASE_URL,
    mail: env.GATEPOST_MAIL_DATABASE_URL ?? env.DATABASE_URL,
    push: env.GATEPOST_PUSH_DATABASE_URL ?? env.DATABASE_URL,
  };
}

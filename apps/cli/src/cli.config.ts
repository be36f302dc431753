import { environment } from '#config';

/** The variables of the command line. */
export const cliEnvironment = environment.pick({
  AMQP_URL: true,
  DATABASE_URL: true,
  GATEPOST_ACCOUNTS_DATABASE_URL: true,
  GATEPOST_DATA_DIR: true,
  GATEPOST_NAMESPACE: true,
});

import { environment } from '#bootstrap';

/** What the command line needs to find the running server. */
export const serverEnvironment = environment
  .pick({ GATEPOST_DATA_DIR: true, GATEPOST_NAMESPACE: true })
  // Without its default: whether the operator names a broker decides which server is meant.
  .extend({ AMQP_URL: environment.shape.AMQP_URL.unwrap().optional() });

/** The keys that `apps create` gives a new application. */
export const keysEnvironment = environment.pick({ GATEPOST_APP_KEY: true, GATEPOST_MASTER_KEY: true });

/** What `migrate` opens. */
export const databaseEnvironment = environment.pick({
  DATABASE_URL: true,
  GATEPOST_ACCOUNTS_DATABASE_URL: true,
  GATEPOST_AUTH_LINKING_DATABASE_URL: true,
  GATEPOST_MAIL_DATABASE_URL: true,
  GATEPOST_PUSH_DATABASE_URL: true,
});

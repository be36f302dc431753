import { environment } from '#config';

/** The variables of the command line. */
export const cliEnvironment = environment
  .pick({
    DATABASE_URL: true,
    GATEPOST_ACCOUNTS_DATABASE_URL: true,
    GATEPOST_DATA_DIR: true,
    GATEPOST_NAMESPACE: true,
  })
  // Without its default: whether the operator names a broker decides which server is meant.
  .extend({ AMQP_URL: environment.shape.AMQP_URL.unwrap().optional() });

export const DEFAULT_AMQP_URL = environment.shape.AMQP_URL.parse(undefined);

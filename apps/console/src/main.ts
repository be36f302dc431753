import {
  brokerEnvironment,
  ConfigError,
  loadConfig,
  overRabbit,
  run,
  serviceEnvironment,
  startService,
} from '#bootstrap';
import { consoleConfig, consoleEnvironment, consoleStartError } from './console.config.js';
import { ConsoleModule } from './console.module.js';
import { createConsoleServer, prepareConsoleServer } from './http-server.js';

const schema = consoleEnvironment.extend({ ...serviceEnvironment.shape, ...brokerEnvironment.shape });

await run(() => {
  const env = loadConfig(schema, process.env);
  const { GATEPOST_CONSOLE_PORT: port, GATEPOST_CONSOLE_HOST: host } = env;
  if (port === 'off') throw new ConfigError(['GATEPOST_CONSOLE_PORT: must be a port where the console service runs']);
  const config = consoleConfig(env);
  return startService({
    name: 'console',
    serves: ['console'],
    imports: [ConsoleModule.forRoot(config, { url: env.AMQP_URL, namespace: env.GATEPOST_NAMESPACE })],
    env: { ...env, GATEPOST_PORT: port, GATEPOST_HOST: host },
    transport: overRabbit('console', env),
    http: createConsoleServer(config),
    prepare: prepareConsoleServer,
  }).catch((cause: unknown) => {
    throw consoleStartError(cause);
  });
});

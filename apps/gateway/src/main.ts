import {
  brokerEnvironment,
  environment,
  loadConfig,
  overRabbit,
  run,
  serviceEnvironment,
  startService,
} from '#bootstrap';
import { RedisModule } from '#redis';
import { gatewayConfig, gatewayEnvironment } from './gateway.config.js';
import { GatewayModule } from './gateway.module.js';
import { createHttpServer, prepareHttpServer } from './http-server.js';

const schema = gatewayEnvironment.extend({
  ...serviceEnvironment.shape,
  ...brokerEnvironment.shape,
  ...environment.pick({ REDIS_URL: true }).shape,
});

await run(() => {
  const env = loadConfig(schema, process.env);
  const config = gatewayConfig(env);
  return startService({
    name: 'gateway',
    serves: ['gateway'],
    imports: [
      RedisModule.forRoot({
        url: env.REDIS_URL,
        namespace: env.GATEPOST_NAMESPACE,
        connectionName: 'gatepost-gateway',
        // Without Redis, each process limits requests by its own counts.
        isRequired: false,
      }),
      GatewayModule.forRoot(config, { requestCounts: 'redis' }),
    ],
    env,
    transport: overRabbit('gateway', env),
    http: createHttpServer(config),
    prepare: prepareHttpServer,
  });
});

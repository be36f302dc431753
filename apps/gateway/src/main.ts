import { brokerEnvironment, overRabbit, run, serviceEnvironment, startService } from '#bootstrap';
import { loadConfig } from '#config';
import { gatewayConfig, gatewayEnvironment } from './gateway.config.js';
import { GatewayModule } from './gateway.module.js';
import { createHttpServer, prepareHttpServer } from './http/http-server.js';

const schema = gatewayEnvironment.extend({ ...serviceEnvironment.shape, ...brokerEnvironment.shape });

await run(() => {
  const env = loadConfig(schema, process.env);
  const config = gatewayConfig(env);
  return startService({
    name: 'gateway',
    serves: [],
    imports: [GatewayModule.forRoot(config)],
    env,
    transport: overRabbit('gateway', env),
    http: createHttpServer(config),
    prepare: prepareHttpServer,
  });
});

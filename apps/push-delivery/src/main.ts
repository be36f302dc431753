import { setFlagsFromString } from 'node:v8';
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
import { connectorEnvironment, pushDeliveryConfig, pushDeliveryEnvironment } from './push-delivery.config.js';
import { PushDeliveryModule } from './push-delivery.module.js';

const shared = {
  ...serviceEnvironment.shape,
  ...brokerEnvironment.shape,
  ...environment.pick({ REDIS_URL: true }).shape,
};
const isConnector = process.env['GATEPOST_PUSH_ROLES'] === 'connector';
const schema = isConnector ? connectorEnvironment.extend(shared) : pushDeliveryEnvironment.extend(shared);

await run(() => {
  const env = loadConfig(schema, process.env);
  const config = pushDeliveryConfig(env);
  // Dispatchers and senders read large pages for a moment: V8 collects them when the heap has grown by a quarter.
  if (!config.roles.has('connector')) setFlagsFromString('--heap-growing-percent=25');
  return startService({
    name: 'push-delivery',
    // Connectors serve devices, not services.
    serves: config.roles.has('dispatcher') ? ['push-delivery'] : [],
    imports: [
      RedisModule.forRoot({
        url: env.REDIS_URL,
        namespace: env.GATEPOST_NAMESPACE,
        connectionName: 'gatepost-push-delivery',
        // Dispatchers accept pushes without Redis and deliver them later.
        isRequired: config.roles.has('connector'),
      }),
      PushDeliveryModule.forRoot(config, { deviceQueues: 'redis' }),
    ],
    env,
    transport: overRabbit('push-delivery', env),
  });
});

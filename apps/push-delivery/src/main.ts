import { brokerEnvironment, overRabbit, run, serviceEnvironment, startService } from '#bootstrap';
import { loadConfig } from '#config';

const schema = serviceEnvironment.extend(brokerEnvironment.shape);

await run(() => {
  const env = loadConfig(schema, process.env);
  return startService({
    name: 'push-delivery',
    serves: [],
    imports: [],
    env,
    transport: overRabbit('push-delivery', env),
  });
});

import { brokerEnvironment, overRabbit, run, serviceEnvironment, startService } from '#bootstrap';
import { loadConfig } from '#config';

const schema = serviceEnvironment.extend(brokerEnvironment.shape);

await run(() => {
  const env = loadConfig(schema, process.env);
  return startService({
    name: 'auth-linking',
    serves: [],
    imports: [],
    env,
    transport: overRabbit('auth-linking', env),
  });
});

import {
  brokerEnvironment,
  environment,
  loadConfig,
  overRabbit,
  run,
  serviceEnvironment,
  startService,
} from '#bootstrap';
import { events } from '#contracts';
import { RedisModule } from '#redis';
import { accountsConfig, accountsEnvironment } from './accounts.config.js';
import { AccountsModule } from './accounts.module.js';

const schema = accountsEnvironment
  .extend({ ...serviceEnvironment.shape, ...brokerEnvironment.shape })
  .extend(environment.pick({ REDIS_URL: true }).shape);

await run(() => {
  const env = loadConfig(schema, process.env);
  return startService({
    name: 'accounts',
    serves: ['accounts'],
    imports: [
      RedisModule.forRoot({
        url: env.REDIS_URL,
        namespace: env.GATEPOST_NAMESPACE,
        connectionName: 'gatepost-accounts',
        // Logins fail closed without it.
        isRequired: true,
      }),
      AccountsModule.forRoot(accountsConfig(env), { lockouts: 'redis' }),
    ],
    env,
    transport: overRabbit('accounts', env, Object.values(events)),
  });
});

import { brokerEnvironment, overRabbit, run, serviceEnvironment, startService } from '#bootstrap';
import { environment, loadConfig } from '#config';
import { accountsConfig, accountsEnvironment } from './accounts.config.js';
import { AccountsModule } from './accounts.module.js';

const schema = accountsEnvironment
  .extend({ ...serviceEnvironment.shape, ...brokerEnvironment.shape })
  // Checked from the start; the lockout counters will be its first use.
  .extend({ REDIS_URL: environment.shape.REDIS_URL });

await run(() => {
  const env = loadConfig(schema, process.env);
  return startService({
    name: 'accounts',
    serves: ['accounts'],
    imports: [AccountsModule.forRoot(accountsConfig(env))],
    env,
    transport: overRabbit('accounts', env),
  });
});

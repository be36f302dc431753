import { brokerEnvironment, loadConfig, overRabbit, run, serviceEnvironment, startService } from '#bootstrap';
import { authLinkingConfig, authLinkingEnvironment } from './auth-linking.config.js';
import { AuthLinkingModule } from './auth-linking.module.js';

const schema = authLinkingEnvironment.extend({ ...serviceEnvironment.shape, ...brokerEnvironment.shape });

await run(() => {
  const env = loadConfig(schema, process.env);
  return startService({
    name: 'auth-linking',
    serves: ['auth-linking'],
    imports: [AuthLinkingModule.forRoot(authLinkingConfig(env))],
    env,
    transport: overRabbit('auth-linking', env),
  });
});

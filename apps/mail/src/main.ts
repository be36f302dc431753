import { brokerEnvironment, loadConfig, overRabbit, run, serviceEnvironment, startService } from '#bootstrap';
import { mailConfig, mailEnvironment } from './mail.config.js';
import { MailModule } from './mail.module.js';

const schema = mailEnvironment.extend({ ...serviceEnvironment.shape, ...brokerEnvironment.shape });

await run(() => {
  const env = loadConfig(schema, process.env);
  return startService({
    name: 'mail',
    serves: ['mail'],
    imports: [MailModule.forRoot(mailConfig(env))],
    env,
    transport: overRabbit('mail', env),
  });
});

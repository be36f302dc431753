import { z } from 'zod';
import { environment, serviceEnvironment } from '#bootstrap';
import { accountsEnvironment } from '../../accounts/src/accounts.config.js';
import { authLinkingEnvironment } from '../../auth-linking/src/auth-linking.config.js';
import { consoleEnvironment } from '../../console/src/console.config.js';
import { gatewayEnvironment } from '../../gateway/src/gateway.config.js';
import { mailEnvironment } from '../../mail/src/mail.config.js';
import { pushDeliveryEnvironment } from '../../push-delivery/src/push-delivery.config.js';

/** The variables of all services, without the addresses of servers that it includes. */
export const standaloneEnvironment = z
  .object({
    ...accountsEnvironment.shape,
    ...authLinkingEnvironment.shape,
    ...mailEnvironment.shape,
    ...pushDeliveryEnvironment.shape,
    ...gatewayEnvironment.shape,
    ...consoleEnvironment.shape,
    ...serviceEnvironment.shape,
    // Generated at the first start if absent.
    GATEPOST_SECRET: environment.shape.GATEPOST_SECRET,
    // A developer reads this console: the welcome text reports success, the log only problems.
    GATEPOST_LOG_LEVEL: environment.shape.GATEPOST_LOG_LEVEL.unwrap().default('warn'),
  })
  .omit({
    DATABASE_URL: true,
    GATEPOST_ACCOUNTS_DATABASE_URL: true,
    GATEPOST_AUTH_LINKING_DATABASE_URL: true,
    GATEPOST_CONSOLE_DATABASE_URL: true,
    GATEPOST_MAIL_DATABASE_URL: true,
    GATEPOST_PUSH_DATABASE_URL: true,
    GATEPOST_PUSH_ROLES: true,
  });

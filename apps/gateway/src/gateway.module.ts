import { type DynamicModule, Inject, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ApplicationDirectory, STRANGER_LIMIT_OPTIONS, StrangerLimit } from '#admission';
import { accountsRpc } from '#contracts';
import { RpcClient } from '#messaging';
import { ProcessFacts, Readiness } from '#observability';
import { BatchSaveController } from './batch/batch-save.controller.js';
import { BatchSaveService } from './batch/batch-save.service.js';
import { BatchController } from './batch/batch.controller.js';
import { BatchService } from './batch/batch.service.js';
import { WriteLimits } from './batch/write-limits.js';
import { EmailsController } from './emails/emails.controller.js';
import { MailLinksController } from './emails/mail-links.controller.js';
import { MailLinksService } from './emails/mail-links.service.js';
import { GATEWAY_CONFIG, type GatewayConfig } from './gateway.config.js';
import { noteSettings } from './gateway.facts.js';
import { Authenticator } from './http/authenticator.js';
import { ErrorFilter } from './http/error.filter.js';
import { MethodOverrideController } from './http/method-override.js';
import { InstallationsController } from './installations/installations.controller.js';
import { Principals } from './installations/principals.js';
import { OpenApiController } from './openapi/openapi.controller.js';
import { OPERATIONS_ENDPOINTS } from './openapi/operations.endpoints.js';
import { ENDPOINTS, endpointsOf, type RoutedEndpoint } from './openapi/routed-endpoints.js';
import { LinkPagesService } from './pages/link-pages.service.js';
import { ResetPasswordPageController } from './pages/reset-password-page.controller.js';
import { ResetPasswordPagesService } from './pages/reset-password-pages.service.js';
import { VerifyEmailPageController } from './pages/verify-email-page.controller.js';
import { VerifyEmailPagesService } from './pages/verify-email-pages.service.js';
import { PhoneNumbersController } from './phone-numbers/phone-numbers.controller.js';
import { PingController } from './ping/ping.controller.js';
import { ConnectorDirectory } from './push-router/connector.directory.js';
import { PushRouterController } from './push-router/push-router.controller.js';
import { NotificationsController } from './push/notifications.controller.js';
import { PushController } from './push/push.controller.js';
import { ScheduledPushesController } from './push/scheduled-pushes.controller.js';
import { RateLimitsModule, type RequestCountStorage } from './rate-limits/rate-limits.module.js';
import { RolesController } from './roles/roles.controller.js';
import { LoginController } from './users/login.controller.js';
import { UsersController } from './users/users.controller.js';

const CONTROLLERS = [
  BatchController,
  BatchSaveController,
  EmailsController,
  InstallationsController,
  LoginController,
  MailLinksController,
  MethodOverrideController,
  NotificationsController,
  OpenApiController,
  PhoneNumbersController,
  PingController,
  PushController,
  PushRouterController,
  ResetPasswordPageController,
  RolesController,
  ScheduledPushesController,
  UsersController,
  VerifyEmailPageController,
];

/** What differs between one process and many. */
interface GatewayAdapters {
  readonly requestCounts: RequestCountStorage;
}

/** The REST edge. */
@Module({})
export class GatewayModule {
  /** Everything that a gateway answers. */
  static readonly endpoints: readonly RoutedEndpoint[] = [...endpointsOf(CONTROLLERS), ...OPERATIONS_ENDPOINTS];

  constructor(
    readiness: Readiness,
    facts: ProcessFacts,
    rpc: RpcClient,
    @Inject(GATEWAY_CONFIG) config: GatewayConfig,
  ) {
    noteSettings(facts, config);
    readiness.register('accounts', async () => {
      await rpc.call(accountsRpc.findApplication, { appId: 'readiness' });
    });
  }

  static forRoot(config: GatewayConfig, { requestCounts }: GatewayAdapters): DynamicModule {
    return {
      module: GatewayModule,
      imports: [RateLimitsModule.forRoot(config.rateLimits, requestCounts)],
      controllers: CONTROLLERS,
      providers: [
        { provide: GATEWAY_CONFIG, useValue: config },
        { provide: ENDPOINTS, useValue: GatewayModule.endpoints },
        { provide: APP_FILTER, useClass: ErrorFilter },
        { provide: STRANGER_LIMIT_OPTIONS, useValue: { limit: config.failedCredentials } },
        ApplicationDirectory,
        Authenticator,
        BatchSaveService,
        BatchService,
        ConnectorDirectory,
        LinkPagesService,
        MailLinksService,
        Principals,
        ResetPasswordPagesService,
        StrangerLimit,
        VerifyEmailPagesService,
        WriteLimits,
      ],
    };
  }
}

import { type DynamicModule, Inject, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ApplicationDirectory, STRANGER_LIMIT_OPTIONS, FailedCredentialLimit } from '#admission';
import { accountsRpc } from '#contracts';
import { RpcClient } from '#messaging';
import { ProcessInfo, Readiness } from '#observability';
import { EmailsController, MailLinksController } from './accounts/emails.controller.js';
import { PhoneNumbersController } from './accounts/phone-numbers.controller.js';
import { RolesController } from './accounts/roles.controller.js';
import { LoginController, UsersController } from './accounts/users.controller.js';
import { BatchController, BatchSaveController } from './batch/batch.controller.js';
import { BatchService } from './batch/batch.service.js';
import { GATEWAY_CONFIG, type GatewayConfig } from './gateway.config.js';
import { ErrorFilter } from './http/error.filter.js';
import { MethodOverrideController } from './http/method-override.js';
import { OpenApiController } from './openapi/openapi.controller.js';
import { ENDPOINTS, endpointsOf, OPERATIONS_ENDPOINTS, type RoutedEndpoint } from './openapi/routed-endpoints.js';
import { sendErrorPage } from './pages/page-reply.js';
import { isForPage } from './pages/page-request.js';
import { ResetPasswordPageController, VerifyEmailPageController } from './pages/pages.controller.js';
import { PagesService } from './pages/pages.service.js';
import { PingController } from './ping/ping.controller.js';
import { InstallationsController } from './push/installations.controller.js';
import { Principals } from './push/principals.js';
import { PushRouterController } from './push/push-router.controller.js';
import { NotificationsController, PushController, ScheduledPushesController } from './push/push.controller.js';
import { RateLimitsModule, type RequestCountStorage } from './rate-limits/rate-limits.module.js';

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

/** The parts that differ between one process and several. */
interface GatewayAdapters {
  readonly requestCounts: RequestCountStorage;
}

/** The REST API. */
@Module({})
export class GatewayModule {
  /** All endpoints of a gateway. */
  static readonly endpoints: readonly RoutedEndpoint[] = [...endpointsOf(CONTROLLERS), ...OPERATIONS_ENDPOINTS];

  constructor(readiness: Readiness, facts: ProcessInfo, rpc: RpcClient, @Inject(GATEWAY_CONFIG) config: GatewayConfig) {
    registerSettings(facts, config);
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
        { provide: APP_FILTER, useFactory: () => new ErrorFilter({ isForPage, sendErrorPage }) },
        { provide: STRANGER_LIMIT_OPTIONS, useValue: { limit: config.failedCredentials } },
        ApplicationDirectory,
        BatchService,
        PagesService,
        Principals,
        FailedCredentialLimit,
      ],
    };
  }
}

/** Adds the settings of the gateway to the diagnostics of the process. */
function registerSettings(facts: ProcessInfo, { baseUrl, pushUrls, rateLimits, trustedProxies }: GatewayConfig): void {
  const areLimited = [rateLimits.requests, rateLimits.logins, rateLimits.signUps].every((one) => one !== undefined);
  facts.setting('baseUrl', () => baseUrl);
  facts.setting('pushUrl', () => pushUrls?.server ?? null);
  facts.setting('areRequestsLimited', () => areLimited);
  facts.setting('trustedProxies', () => trustedProxies.length);
}

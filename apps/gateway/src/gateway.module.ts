import { type DynamicModule, Inject, Module, type Provider, type Type } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import {
  ApplicationDirectory,
  FAILED_CREDENTIAL_LIMIT_OPTIONS,
  FailedCredentialLimit,
  MemoryRequestCounter,
} from '#admission';
import { Clock } from '#bootstrap';
import { accountsRpc } from '#contracts';
import { RpcClient } from '#messaging';
import { Metrics, ProcessInfo, Readiness } from '#observability';
import { Redis } from '#redis';
import { EmailsController, MailLinksController } from './accounts/emails.controller.js';
import { PhoneNumbersController } from './accounts/phone-numbers.controller.js';
import { LoginController, UsersController } from './accounts/users.controller.js';
import { BatchController, BatchSaveController } from './batch/batch.controller.js';
import { Forwarder } from './forwarding/forwarder.js';
import { GATEWAY_CONFIG, type GatewayConfig } from './gateway.config.js';
import { ErrorFilter } from './http/error.filter.js';
import { MethodOverrideController } from './http/sub-request.js';
import { InstallationsController, Principals, RolesController } from './objects/objects.controller.js';
import { ScanController } from './objects/scan.controller.js';
import { ENDPOINTS, endpointsOf, OPERATIONS_ENDPOINTS, type RoutedEndpoint } from './openapi/routed-endpoints.js';
import { isForPage } from './pages/page-request.js';
import { sendErrorPage } from './pages/page-template.js';
import { ResetPasswordPageController, VerifyEmailPageController } from './pages/pages.controller.js';
import { PushRouterController } from './push/push-router.controller.js';
import { NotificationsController, PushController, ScheduledPushesController } from './push/push.controller.js';
import {
  FallbackRequestCounter,
  RedisLimitedClients,
  RedisRequestCounter,
} from './rate-limits/redis-request-counter.store.js';
import {
  LIMITED_CLIENTS,
  LimitedClientsController,
  MemoryLimitedClients,
  RATE_LIMITS,
  REQUEST_COUNTER,
  RequestLimits,
} from './rate-limits/request-limits.js';
import { OpenApiController, PingController, StatisticsController } from './service/service.controller.js';

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
  ScanController,
  ScheduledPushesController,
  StatisticsController,
  UsersController,
  VerifyEmailPageController,
];

/** The storage of request counts: Redis for several gateways, memory for a single one. */
const COUNTERS = {
  redis: [
    {
      provide: REQUEST_COUNTER,
      inject: [Redis, Metrics],
      useFactory: (redis: Redis, metrics: Metrics) =>
        new FallbackRequestCounter(new RedisRequestCounter(redis), new MemoryRequestCounter(), metrics),
    },
    { provide: LIMITED_CLIENTS, inject: [Redis], useFactory: (redis: Redis) => new RedisLimitedClients(redis) },
  ],
  memory: [
    { provide: REQUEST_COUNTER, useFactory: () => new MemoryRequestCounter() },
    {
      provide: LIMITED_CLIENTS,
      inject: [REQUEST_COUNTER, Clock],
      useFactory: (counter: MemoryRequestCounter, clock: Clock) => new MemoryLimitedClients(counter, clock),
    },
  ],
} satisfies Record<string, Provider[]>;

interface GatewayAdapters {
  readonly requestCounts: keyof typeof COUNTERS;
  /** The routes of further classes, from `objectsController`. */
  readonly classes?: readonly Type[];
}

@Module({})
export class GatewayModule {
  static readonly endpoints: readonly RoutedEndpoint[] = [...endpointsOf(CONTROLLERS), ...OPERATIONS_ENDPOINTS];

  constructor(
    readiness: Readiness,
    processInfo: ProcessInfo,
    rpc: RpcClient,
    @Inject(GATEWAY_CONFIG) config: GatewayConfig,
  ) {
    registerSettings(processInfo, config);
    readiness.register('accounts', async () => {
      await rpc.call(accountsRpc.findApplication, { appId: 'readiness' });
    });
  }

  static forRoot(config: GatewayConfig, { requestCounts, classes = [] }: GatewayAdapters): DynamicModule {
    return {
      module: GatewayModule,
      controllers: [...CONTROLLERS, ...classes, LimitedClientsController],
      providers: [
        { provide: GATEWAY_CONFIG, useValue: config },
        { provide: RATE_LIMITS, useValue: config.rateLimits },
        ...COUNTERS[requestCounts],
        Clock,
        { provide: ENDPOINTS, useValue: [...GatewayModule.endpoints, ...endpointsOf(classes)] },
        { provide: APP_FILTER, useFactory: () => new ErrorFilter({ isForPage, sendErrorPage }) },
        { provide: FAILED_CREDENTIAL_LIMIT_OPTIONS, useValue: { limit: config.failedCredentials } },
        ApplicationDirectory,
        FailedCredentialLimit,
        Forwarder,
        Principals,
        RequestLimits,
      ],
    };
  }
}

function registerSettings(processInfo: ProcessInfo, config: GatewayConfig): void {
  const { baseUrl, pushUrls, rateLimits, trustedProxies } = config;
  const areLimited = [rateLimits.requests, rateLimits.logins, rateLimits.signUps].every((one) => one !== undefined);
  processInfo.setting('baseUrl', () => baseUrl);
  processInfo.setting('pushUrl', () => pushUrls?.server ?? null);
  processInfo.setting('areRequestsLimited', () => areLimited);
  processInfo.setting('trustedProxies', () => trustedProxies.length);
}

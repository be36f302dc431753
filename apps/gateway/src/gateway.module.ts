import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { accountsRpc } from '#contracts';
import { RpcClient } from '#messaging';
import { Readiness } from '#observability';
import { GATEWAY_CONFIG, type GatewayConfig } from './gateway.config.js';
import { ApplicationDirectory } from './http/application.directory.js';
import { Authenticator } from './http/authenticator.js';
import { ErrorFilter } from './http/error.filter.js';
import { MethodOverrideController } from './http/method-override.js';
import { PingController } from './ping/ping.controller.js';
import { LoginController } from './users/login.controller.js';
import { UsersController } from './users/users.controller.js';

/** The REST edge. */
@Module({})
export class GatewayModule {
  constructor(readiness: Readiness, rpc: RpcClient) {
    readiness.register('accounts', async () => {
      await rpc.call(accountsRpc.findApplication, { appId: 'readiness' });
    });
  }

  static forRoot(config: GatewayConfig): DynamicModule {
    return {
      module: GatewayModule,
      controllers: [LoginController, MethodOverrideController, PingController, UsersController],
      providers: [
        { provide: GATEWAY_CONFIG, useValue: config },
        { provide: APP_FILTER, useClass: ErrorFilter },
        ApplicationDirectory,
        Authenticator,
      ],
    };
  }
}

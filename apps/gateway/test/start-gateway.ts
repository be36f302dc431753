import type { DynamicModule } from '@nestjs/common';
import { type RunningService, startService } from '#bootstrap';
import { type GatewayConfig, gatewayConfig, gatewayEnvironment } from '../src/gateway.config.js';
import { GatewayModule } from '../src/gateway.module.js';
import { createHttpServer, prepareHttpServer } from '../src/http-server.js';
import type { FakeAccounts } from './fake-accounts.js';

export const GATEWAY_CONFIG: GatewayConfig = {
  ...gatewayConfig(gatewayEnvironment.parse({})),
  baseUrl: 'https://api.example.com',
  bodyLimitBytes: 2_048,
};

/** Starts a whole gateway, with accounts faked at the contract. */
export async function startGateway(
  accounts: FakeAccounts,
  more: readonly DynamicModule[] = [],
  given: Partial<GatewayConfig> = {},
): Promise<RunningService> {
  const config = { ...GATEWAY_CONFIG, ...given };
  const service = await startService({
    name: 'gateway',
    serves: [],
    imports: [GatewayModule.forRoot(config, { requestCounts: 'memory' }), ...more],
    env: {
      GATEPOST_DRAIN_SECONDS: 0,
      GATEPOST_HOST: '127.0.0.1',
      GATEPOST_LOG_LEVEL: 'error',
      GATEPOST_PORT: 0,
    } as never,
    transport: () => accounts,
    http: createHttpServer(config),
    prepare: prepareHttpServer,
  });
  // Expected errors are not logged.
  service.app.useLogger(false);
  // The readiness check has called accounts.
  accounts.calls.length = 0;
  return service;
}

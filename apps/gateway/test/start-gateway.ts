import type { DynamicModule } from '@nestjs/common';
import type { RunningService } from '#bootstrap';
import { accountsRpc, type Application, application } from '#contracts';
import { FakeTransport, serveOver } from '#testing';
import { type GatewayConfig, gatewayConfig, gatewayEnvironment } from '../src/gateway.config.js';
import { GatewayModule } from '../src/gateway.module.js';
import { createHttpServer, prepareHttpServer } from '../src/http-server.js';

export const APPLICATION: Application = application.parse({
  id: 'fake-application',
  name: 'fake',
  appKey: 'fake-app-key',
  masterKey: 'fake-master-key',
  settings: {},
  createdAt: '2026-01-01T00:00:00.000Z',
});

/** Replaces the services behind the gateway. They know one application; `calledPatterns` leaves out the look-ups of applications. */
export function fakeServices(): FakeTransport {
  return new FakeTransport([accountsRpc.findApplication, accountsRpc.listApplicationIds])
    .answer(accountsRpc.findApplication, ({ appId }) => ({
      application: appId === APPLICATION.id ? APPLICATION : null,
    }))
    .answer(accountsRpc.listApplicationIds, () => ({ appIds: [APPLICATION.id] }));
}

export const GATEWAY_CONFIG: GatewayConfig = {
  ...gatewayConfig(gatewayEnvironment.parse({})),
  baseUrl: 'https://api.example.com',
  bodyLimitBytes: 2_048,
};

/** Starts a whole gateway over a fake transport. */
export async function startGateway(
  transport: FakeTransport,
  more: readonly DynamicModule[] = [],
  given: Partial<GatewayConfig> = {},
): Promise<RunningService> {
  const config = { ...GATEWAY_CONFIG, ...given };
  const service = await serveOver(transport, {
    name: 'gateway',
    serves: [],
    imports: [GatewayModule.forRoot(config, { requestCounts: 'memory' }), ...more],
    http: createHttpServer(config),
    prepare: prepareHttpServer,
  });
  // The readiness check has called accounts.
  transport.calls.length = 0;
  return service;
}

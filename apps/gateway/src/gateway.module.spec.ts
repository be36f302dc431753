import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisModule } from '#redis';
import { contractedEvents, contractedRpcs, START_TIMEOUT_MS, TestService } from '#testing';
import { gatewayConfig, gatewayEnvironment } from './gateway.config.js';
import { GatewayModule } from './gateway.module.js';
import { createHttpServer, prepareHttpServer } from './http-server.js';

describe('GatewayModule, composed as at its start', () => {
  let service: TestService;

  beforeAll(async () => {
    const config = gatewayConfig(gatewayEnvironment.parse({}));
    service = await TestService.start({
      name: 'gateway',
      serves: ['gateway'],
      imports: [
        RedisModule.forRoot({
          url: 'redis://127.0.0.1:1',
          namespace: 'unit',
          connectionName: 'unit',
          isRequired: false,
        }),
        GatewayModule.forRoot(config, { requestCounts: 'redis' }),
      ],
      http: createHttpServer(config),
      prepare: prepareHttpServer,
    });
  }, START_TIMEOUT_MS);
  afterAll(() => service.stop());

  it('handles each RPC of its contract once, and no other', () => {
    expect(service.handledRpcs).toEqual(contractedRpcs('gateway'));
  });

  it('handles each event that names it as a subscriber once, and no other', () => {
    expect(service.handledEvents).toEqual(contractedEvents('gateway'));
  });

  it('reports each part that it needs while no server is available', async () => {
    expect(await service.unavailableParts()).toEqual(['accounts', 'message broker']);
  });
});

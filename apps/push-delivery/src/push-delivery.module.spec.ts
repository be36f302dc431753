import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisModule } from '#redis';
import { contractedEvents, contractedRpcs, NO_DATABASE_URL, START_TIMEOUT_MS, TestService } from '#testing';
import { pushDeliveryConfig, pushDeliveryEnvironment } from './push-delivery.config.js';
import { PushDeliveryModule } from './push-delivery.module.js';

describe('PushDeliveryModule, composed as at its start', () => {
  let service: TestService;

  beforeAll(async () => {
    const config = pushDeliveryConfig(
      pushDeliveryEnvironment.parse({
        DATABASE_URL: NO_DATABASE_URL,
        GATEPOST_SECRET: 'a secret of thirty-two characters, or more',
      }),
    );
    service = await TestService.start({
      name: 'push-delivery',
      serves: ['push-delivery'],
      imports: [
        RedisModule.forRoot({
          url: 'redis://127.0.0.1:1',
          namespace: 'unit',
          connectionName: 'unit',
          isRequired: config.roles.has('connector'),
        }),
        PushDeliveryModule.forRoot(config, { deviceQueues: 'redis' }),
      ],
    });
  }, START_TIMEOUT_MS);
  afterAll(() => service.stop());

  it('handles each RPC of its contract once, and no other', () => {
    expect(service.handledRpcs).toEqual(contractedRpcs('push-delivery'));
  });

  it('handles each event that names it as a subscriber once, and no other', () => {
    expect(service.handledEvents).toEqual(contractedEvents('push-delivery'));
  });

  it('reports each part that it needs while no server is available', async () => {
    expect(await service.unavailableParts()).toEqual(['message broker', 'postgresql (push)', 'redis', 'secret (push)']);
  });
});

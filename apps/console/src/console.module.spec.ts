import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contractedEvents, contractedRpcs, NO_DATABASE_URL, START_TIMEOUT_MS, TestService } from '#testing';
import { consoleConfig, consoleEnvironment } from './console.config.js';
import { ConsoleModule } from './console.module.js';

describe('ConsoleModule, composed as at its start', () => {
  let service: TestService;

  beforeAll(async () => {
    const config = consoleConfig(
      consoleEnvironment.parse({
        DATABASE_URL: NO_DATABASE_URL,
        GATEPOST_SECRET: 'a secret of thirty-two characters, or more',
      }),
    );
    service = await TestService.start({
      name: 'console',
      serves: ['console'],
      imports: [ConsoleModule.forRoot(config, null)],
    });
  }, START_TIMEOUT_MS);
  afterAll(() => service.stop());

  it('handles each RPC of its contract once, and no other', () => {
    expect(service.handledRpcs).toEqual(contractedRpcs('console'));
  });

  it('handles each event that names it as a subscriber once, and no other', () => {
    expect(service.handledEvents).toEqual(contractedEvents('console'));
  });

  it('reports each part that it needs while no server is available', async () => {
    expect(await service.unavailableParts()).toEqual(['message broker', 'postgresql (console)']);
  });
});

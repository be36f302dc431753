import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contractedEvents, contractedRpcs, NO_DATABASE_URL, START_TIMEOUT_MS, TestService } from '#testing';
import { authLinkingConfig, authLinkingEnvironment } from './auth-linking.config.js';
import { AuthLinkingModule } from './auth-linking.module.js';

describe('AuthLinkingModule, composed as at its start', () => {
  let service: TestService;

  beforeAll(async () => {
    const config = authLinkingConfig(
      authLinkingEnvironment.parse({
        DATABASE_URL: NO_DATABASE_URL,
        GATEPOST_SECRET: 'a secret of thirty-two characters, or more',
      }),
    );
    service = await TestService.start({
      name: 'auth-linking',
      serves: ['auth-linking'],
      imports: [AuthLinkingModule.forRoot(config)],
    });
  }, START_TIMEOUT_MS);
  afterAll(() => service.stop());

  it('handles each RPC of its contract once, and no other', () => {
    expect(service.handledRpcs).toEqual(contractedRpcs('auth-linking'));
  });

  it('handles each event that names it as a subscriber once, and no other', () => {
    expect(service.handledEvents).toEqual(contractedEvents('auth-linking'));
  });

  it('reports each part that it needs while no server is available', async () => {
    expect(await service.unavailableParts()).toEqual([
      'message broker',
      'postgresql (auth_linking)',
      'secret (auth_linking)',
    ]);
  });
});

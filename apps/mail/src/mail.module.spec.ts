import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contractedEvents, contractedRpcs, NO_DATABASE_URL, START_TIMEOUT_MS, TestService } from '#testing';
import { mailConfig, mailEnvironment } from './mail.config.js';
import { MailModule } from './mail.module.js';

describe('MailModule, composed as at its start', () => {
  let service: TestService;

  beforeAll(async () => {
    const config = mailConfig(
      mailEnvironment.parse({
        DATABASE_URL: NO_DATABASE_URL,
        GATEPOST_SECRET: 'a secret of thirty-two characters, or more',
      }),
    );
    service = await TestService.start({
      name: 'mail',
      serves: ['mail'],
      imports: [MailModule.forRoot(config)],
    });
  }, START_TIMEOUT_MS);
  afterAll(() => service.stop());

  it('handles each RPC of its contract once, and no other', () => {
    expect(service.handledRpcs).toEqual(contractedRpcs('mail'));
  });

  it('handles each event that names it as a subscriber once, and no other', () => {
    expect(service.handledEvents).toEqual(contractedEvents('mail'));
  });

  it('reports each part that it needs while no server is available', async () => {
    expect(await service.unavailableParts()).toEqual([
      'message broker',
      'postgresql (mail)',
      'secret (mail)',
      'secret (text message providers)',
    ]);
  });
});

import { Module } from '@nestjs/common';
import { Readiness } from '#observability';
import { Sealer, sealerOf } from '#security';
import { AUTH_LINKING_CONFIG, type AuthLinkingConfig } from '../auth-linking.config.js';
import { CredentialsController } from './credentials.controller.js';
import { CredentialsRepository } from './credentials.repository.js';
import { CredentialsService } from './credentials.service.js';

/** What platforms demand of an application, set by its operator. */
@Module({
  controllers: [CredentialsController],
  providers: [
    CredentialsService,
    CredentialsRepository,
    { provide: Sealer, inject: [AUTH_LINKING_CONFIG], useFactory: (config: AuthLinkingConfig) => sealerOf(config) },
  ],
  exports: [CredentialsService, Sealer],
})
export class CredentialsModule {
  constructor(readiness: Readiness, credentials: CredentialsService) {
    readiness.register('secret (auth_linking)', () => credentials.assertSecretFits());
  }
}

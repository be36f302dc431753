import { Module } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { ApplicationsModule } from '../applications/applications.module.js';
import { PrincipalsRepository } from './principals.repository.js';
import { PrincipalsService, SessionTokens } from './sessions.service.js';

/** Session tokens, and the users and roles that they stand for. */
@Module({
  imports: [ApplicationsModule],
  providers: [Clock, PrincipalsRepository, PrincipalsService, SessionTokens],
  exports: [ApplicationsModule, Clock, PrincipalsService, SessionTokens],
})
export class SessionsModule {}

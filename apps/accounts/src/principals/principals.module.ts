import { Module } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { ApplicationsModule } from '../applications/applications.module.js';
import { ClassAccess } from '../class-permissions/class-access.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { PrincipalsRepository } from './principals.repository.js';
import { PrincipalsService } from './principals.service.js';

/** Who asks, and what the class permissions let them do. */
@Module({
  imports: [ApplicationsModule],
  providers: [ClassAccess, Clock, PrincipalsRepository, PrincipalsService, SessionTokens],
  exports: [ApplicationsModule, ClassAccess, Clock, PrincipalsService, SessionTokens],
})
export class PrincipalsModule {}

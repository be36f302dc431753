import { Module } from '@nestjs/common';
import { ObjectsModule } from '../objects/objects.module.js';
import { PrincipalsModule } from '../principals/principals.module.js';
import { IdentitiesController } from './identities.controller.js';
import { IdentityEntryService } from './identity-entry.service.js';
import { IdentityLoginService } from './identity-login.service.js';
import { IdentityReportService } from './identity-report.service.js';

/** Logins and sign-ups by accounts on other platforms. */
@Module({
  imports: [ObjectsModule, PrincipalsModule],
  controllers: [IdentitiesController],
  providers: [IdentityEntryService, IdentityLoginService, IdentityReportService],
})
export class IdentitiesModule {}

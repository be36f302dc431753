import { Module } from '@nestjs/common';
import { ObjectsModule } from '../objects/objects.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { PrincipalsModule } from '../principals/principals.module.js';
import { AddresseeService } from './addressee.service.js';
import { EmailVerificationService } from './email-verification.service.js';
import { EmailsController } from './emails.controller.js';
import { LinkInspectionService } from './link-inspection.service.js';
import { LinkRenewalService } from './link-renewal.service.js';
import { MailLinks } from './mail-links.js';
import { PasswordResetService } from './password-reset.service.js';

/** What users do with links that were mailed to them. */
@Module({
  imports: [ObjectsModule, PasswordsModule, PrincipalsModule],
  controllers: [EmailsController],
  providers: [
    AddresseeService,
    EmailVerificationService,
    LinkInspectionService,
    LinkRenewalService,
    MailLinks,
    PasswordResetService,
  ],
})
export class EmailsModule {}

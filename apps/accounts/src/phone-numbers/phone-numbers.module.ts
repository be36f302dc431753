import { Module } from '@nestjs/common';
import { ObjectsModule } from '../objects/objects.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { PrincipalsModule } from '../principals/principals.module.js';
import { CodeRedeemer } from './code-redeemer.js';
import { CodeRequestsService } from './code-requests.service.js';
import { PhoneEntryService } from './phone-entry.service.js';
import { PhoneLoginService } from './phone-login.service.js';
import { PhoneNumberResolver } from './phone-number.resolver.js';
import { PhoneNumbersController } from './phone-numbers.controller.js';
import { PhonePasswordResetService } from './phone-password-reset.service.js';
import { PhoneVerificationService } from './phone-verification.service.js';
import { SmsAllowancesRepository } from './sms-allowances.repository.js';
import { SmsCodeJudge } from './sms-code.judge.js';
import { SmsCodesRepository } from './sms-codes.repository.js';
import { SmsCodesService } from './sms-codes.service.js';
import { SmsSender } from './sms-sender.js';

/** What users do with codes that were sent to their phone numbers. */
@Module({
  imports: [ObjectsModule, PasswordsModule, PrincipalsModule],
  controllers: [PhoneNumbersController],
  providers: [
    CodeRedeemer,
    CodeRequestsService,
    PhoneEntryService,
    PhoneLoginService,
    PhoneNumberResolver,
    PhonePasswordResetService,
    PhoneVerificationService,
    SmsAllowancesRepository,
    SmsCodeJudge,
    SmsCodesRepository,
    SmsCodesService,
    SmsSender,
  ],
  exports: [PhoneLoginService],
})
export class PhoneNumbersModule {}

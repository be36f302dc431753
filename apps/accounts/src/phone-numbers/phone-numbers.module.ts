import { Module } from '@nestjs/common';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { PhoneLoginService } from './phone-login.service.js';
import { PhoneNumbersController } from './phone-numbers.controller.js';
import { SmsCodesRepository } from './sms-codes.repository.js';
import { SmsCodesService } from './sms-codes.service.js';

/** Codes that are sent to phone numbers: logins, verification and password resets by them. */
@Module({
  imports: [PasswordsModule, SessionsModule, UsersModule],
  controllers: [PhoneNumbersController],
  providers: [PhoneLoginService, SmsCodesRepository, SmsCodesService],
  exports: [PhoneLoginService],
})
export class PhoneNumbersModule {}

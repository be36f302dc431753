import { Module } from '@nestjs/common';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { PhoneNumbersModule } from '../phone-numbers/phone-numbers.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { LoginController } from './login.controller.js';

/** Logins, by password and by code, and the report of locked users. */
@Module({
  imports: [PasswordsModule, PhoneNumbersModule, SessionsModule, UsersModule],
  controllers: [LoginController],
})
export class LoginModule {}

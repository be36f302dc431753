import { Module } from '@nestjs/common';
import { ObjectsModule } from '../objects/objects.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { PhoneNumbersModule } from '../phone-numbers/phone-numbers.module.js';
import { PrincipalsModule } from '../principals/principals.module.js';
import { LoginController } from './login.controller.js';
import { LoginMethodsService } from './login-methods.service.js';
import { LoginService } from './login.service.js';

/** Logins, by password and by code. */
@Module({
  imports: [ObjectsModule, PasswordsModule, PhoneNumbersModule, PrincipalsModule],
  controllers: [LoginController],
  providers: [LoginMethodsService, LoginService],
})
export class LoginModule {}

import { Module } from '@nestjs/common';
import { SessionsModule } from '../sessions/sessions.module.js';
import { PasswordHasher } from './password-hasher.js';
import { PasswordsService } from './passwords.service.js';

/** Passwords: hashed on threads of their own, verified under the lockout. */
@Module({
  imports: [SessionsModule],
  providers: [PasswordHasher, PasswordsService],
  exports: [PasswordHasher, PasswordsService],
})
export class PasswordsModule {}

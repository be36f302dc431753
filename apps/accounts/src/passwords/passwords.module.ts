import { Module } from '@nestjs/common';
import { PrincipalsModule } from '../principals/principals.module.js';
import { NewPasswords } from './new-passwords.js';
import { PasswordHasher } from './password-hasher.js';
import { PasswordJudge } from './password-judge.js';

/** Passwords: hashed on threads of their own, judged under the lockout. */
@Module({
  imports: [PrincipalsModule],
  providers: [NewPasswords, PasswordHasher, PasswordJudge],
  exports: [NewPasswords, PasswordHasher, PasswordJudge],
})
export class PasswordsModule {}

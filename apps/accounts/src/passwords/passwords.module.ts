import { Module } from '@nestjs/common';
import { Metrics } from '#observability';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { PasswordHasher } from '#security/passwords';
import { PasswordsService } from './passwords.service.js';

/** Passwords: hashed on threads of their own, verified under the lockout. */
@Module({
  imports: [SessionsModule],
  providers: [
    {
      provide: PasswordHasher,
      inject: [ACCOUNTS_CONFIG, Metrics],
      useFactory: (config: AccountsConfig, metrics: Metrics) => new PasswordHasher(config, metrics),
    },
    PasswordsService,
  ],
  exports: [PasswordHasher, PasswordsService],
})
export class PasswordsModule {}

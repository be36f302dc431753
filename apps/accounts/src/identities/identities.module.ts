import { Module } from '@nestjs/common';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { IdentitiesController } from './identities.controller.js';

/** Logins and sign-ups by accounts on other platforms. */
@Module({
  imports: [SessionsModule, UsersModule],
  controllers: [IdentitiesController],
})
export class IdentitiesModule {}

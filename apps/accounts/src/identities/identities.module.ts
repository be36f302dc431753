import { Module } from '@nestjs/common';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { IdentitiesController } from './identities.controller.js';
import { IdentitiesService } from './identities.service.js';

/** Logins and sign-ups by accounts on other platforms. */
@Module({
  imports: [SessionsModule, UsersModule],
  controllers: [IdentitiesController],
  providers: [IdentitiesService],
})
export class IdentitiesModule {}

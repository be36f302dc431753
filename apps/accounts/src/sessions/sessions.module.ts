import { Module } from '@nestjs/common';
import { ObjectsModule } from '../objects/objects.module.js';
import { PrincipalsModule } from '../principals/principals.module.js';
import { RefreshSessionService } from './refresh-session.service.js';
import { SessionsController } from './sessions.controller.js';

/** The renewal of session tokens. */
@Module({
  imports: [ObjectsModule, PrincipalsModule],
  controllers: [SessionsController],
  providers: [RefreshSessionService],
})
export class SessionsModule {}

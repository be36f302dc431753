import { Module } from '@nestjs/common';
import { SessionsModule } from '../sessions/sessions.module.js';
import { RolesController } from './roles.controller.js';
import { RolesRepository } from './roles.repository.js';

@Module({
  imports: [SessionsModule],
  controllers: [RolesController],
  providers: [RolesRepository],
})
export class RolesModule {}

import { Module } from '@nestjs/common';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { UsersModule } from '../users/users.module.js';
import { EmailsController } from './emails.controller.js';

/** Email verification and password resets by mailed links. */
@Module({
  imports: [PasswordsModule, SessionsModule, UsersModule],
  controllers: [EmailsController],
})
export class EmailsModule {}

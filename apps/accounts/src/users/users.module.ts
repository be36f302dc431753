import { Module } from '@nestjs/common';
import { OutboxModule } from '#outbox';
import { ACCOUNTS_SCHEMA } from '../accounts.database.js';
import { ApplicationsModule } from '../applications/applications.module.js';
import { Clock } from '../clock.js';
import { LoginService } from '../login/login.service.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { SignUpService } from './sign-up.service.js';
import { UpdatePasswordService } from './update-password.service.js';
import { UpdateUserService } from './update-user.service.js';
import { UserAccess } from './user-access.js';
import { UserWriter } from './user-writer.js';
import { UsersController } from './users.controller.js';
import { UsersRepository } from './users.repository.js';
import { UsersService } from './users.service.js';

@Module({
  imports: [ApplicationsModule, OutboxModule.forSchema(ACCOUNTS_SCHEMA)],
  controllers: [UsersController],
  providers: [
    Clock,
    LoginService,
    PasswordHasher,
    SessionTokens,
    SignUpService,
    UpdatePasswordService,
    UpdateUserService,
    UserAccess,
    UserWriter,
    UsersRepository,
    UsersService,
  ],
})
export class UsersModule {}

import { Module } from '@nestjs/common';
import { OutboxModule } from '#outbox';
import { ACCOUNTS_SCHEMA } from '../accounts.database.js';
import { ApplicationsModule } from '../applications/applications.module.js';
import { ClassAccess } from '../class-permissions/class-access.js';
import { Clock } from '../clock.js';
import { LoginService } from '../login/login.service.js';
import { NewPasswords } from '../passwords/new-passwords.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { PrincipalsRepository } from '../principals/principals.repository.js';
import { PrincipalsService } from '../principals/principals.service.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { SignUpService } from './sign-up.service.js';
import { UpdatePasswordService } from './update-password.service.js';
import { UpdateUserService } from './update-user.service.js';
import { UserAccess } from './user-access.js';
import { UserFactory } from './user.factory.js';
import { UserWriter } from './user-writer.js';
import { UsersController } from './users.controller.js';
import { UsersRepository } from './users.repository.js';
import { UsersService } from './users.service.js';

@Module({
  imports: [ApplicationsModule, OutboxModule.forSchema(ACCOUNTS_SCHEMA)],
  controllers: [UsersController],
  providers: [
    ClassAccess,
    Clock,
    LoginService,
    NewPasswords,
    PasswordHasher,
    PrincipalsRepository,
    PrincipalsService,
    SessionTokens,
    SignUpService,
    UpdatePasswordService,
    UpdateUserService,
    UserAccess,
    UserFactory,
    UserWriter,
    UsersRepository,
    UsersService,
  ],
})
export class UsersModule {}

import { Module } from '@nestjs/common';
import { OutboxModule } from '#database';
import { ACCOUNTS_SCHEMA } from '../accounts.database.js';
import { MailSender, MailTokens } from '../messages/mail-sender.js';
import { MessageAllowancesRepository } from '../messages/message-allowances.repository.js';
import { AccountsObjectsModule } from '../objects/objects.module.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { DailyCounts, LoginCountsCleanup } from './daily-counts.js';
import { IdentitiesRepository } from './identities.repository.js';
import { SignUpService } from './sign-up.service.js';
import { UserImports } from './user-imports.js';
import { UserSearchController } from './user-search.controller.js';
import { UserSearchRepository } from './user-search.repository.js';
import { UserTransactions } from './user-transactions.js';
import { UserObjectWrites } from './user-object-writes.js';
import { UsersController } from './users.controller.js';
import { UsersRepository } from './users.repository.js';
import { UsersService } from './users.service.js';

@Module({
  imports: [AccountsObjectsModule, OutboxModule.forSchema(ACCOUNTS_SCHEMA), PasswordsModule, SessionsModule],
  controllers: [UsersController, UserSearchController],
  providers: [
    DailyCounts,
    IdentitiesRepository,
    LoginCountsCleanup,
    MailSender,
    MailTokens,
    MessageAllowancesRepository,
    SignUpService,
    UserImports,
    UserSearchRepository,
    UserTransactions,
    UserObjectWrites,
    UsersRepository,
    UsersService,
  ],
  exports: [
    DailyCounts,
    IdentitiesRepository,
    MailSender,
    MailTokens,
    MessageAllowancesRepository,
    OutboxModule,
    SignUpService,
    UserTransactions,
    UsersRepository,
    UsersService,
  ],
})
export class UsersModule {}

import { Module } from '@nestjs/common';
import { OutboxModule } from '#database';
import { ACCOUNTS_SCHEMA } from '../accounts.database.js';
import { MailSender, MailTokens } from '../messages/mail-sender.js';
import { MailAllowancesRepository } from '../messages/message-allowances.repository.js';
import { ObjectClasses } from '../objects/object-classes.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { IdentitiesRepository } from './identities.repository.js';
import { SignUpService } from './sign-up.service.js';
import { UpdateUserService } from './update-user.service.js';
import { UserWriter } from './user-writer.js';
import { UserReader, userQueryClass } from './user.presenter.js';
import { UsersController } from './users.controller.js';
import { UsersRepository } from './users.repository.js';
import { UsersService } from './users.service.js';

@Module({
  imports: [OutboxModule.forSchema(ACCOUNTS_SCHEMA), PasswordsModule, SessionsModule],
  controllers: [UsersController],
  providers: [
    IdentitiesRepository,
    MailAllowancesRepository,
    MailSender,
    MailTokens,
    SignUpService,
    UpdateUserService,
    UserReader,
    UserWriter,
    UsersRepository,
    UsersService,
  ],
  exports: [
    IdentitiesRepository,
    MailSender,
    MailTokens,
    OutboxModule,
    SignUpService,
    UserWriter,
    UsersRepository,
    UsersService,
  ],
})
export class UsersModule {
  constructor(classes: ObjectClasses, objects: UserReader, signUps: SignUpService, updates: UpdateUserService) {
    classes.register({
      className: '_User',
      objects,
      queryClass: userQueryClass,
      prepareWrite: (caller, { id, objectId, fields, ...options }) =>
        objectId === undefined
          ? signUps.prepare(caller, fields, { objectId: id })
          : updates.prepare(caller, id, fields, options),
    });
  }
}

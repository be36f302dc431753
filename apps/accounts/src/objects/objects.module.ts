import { Module } from '@nestjs/common';
import { accountsIndexesRpc } from '#contracts';
import { Database, OutboxModule } from '#database';
import { FieldIndexesModule } from '#objects/store';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { ACCOUNTS_SCHEMA, accountsDatabase } from '../accounts.database.js';
import { MailAllowancesRepository } from '../emails/mail-allowances.repository.js';
import { MailSender } from '../emails/mail-sender.js';
import { MailTokens } from '../emails/mail-tokens.js';
import { IdentitiesRepository } from '../identities/identities.repository.js';
import { PasswordsModule } from '../passwords/passwords.module.js';
import { PrincipalsModule } from '../principals/principals.module.js';
import { RoleAccess } from '../roles/role-access.js';
import { ROLE_QUERY_CLASS } from '../roles/role-query.fields.js';
import { RoleWriter } from '../roles/role-writer.js';
import { RoleReader } from '../roles/role.reader.js';
import { RolesController } from '../roles/roles.controller.js';
import { RolesRepository } from '../roles/roles.repository.js';
import { RolesService } from '../roles/roles.service.js';
import { RemoveUsersService } from '../users/remove-users.service.js';
import { SignUpService } from '../users/sign-up.service.js';
import { UpdatePasswordService } from '../users/update-password.service.js';
import { UpdateUserService } from '../users/update-user.service.js';
import { UserAccess } from '../users/user-access.js';
import { UserEvents } from '../users/user-events.js';
import { userQueryClass } from '../users/user-query.fields.js';
import { UserWriter } from '../users/user-writer.js';
import { UserFactory } from '../users/user.factory.js';
import { UserReader } from '../users/user.reader.js';
import { UsersController } from '../users/users.controller.js';
import { UsersRepository } from '../users/users.repository.js';
import { UsersService } from '../users/users.service.js';
import { AccountsQueryDatabase } from './accounts-query-database.js';
import { FindObjectsService } from './find-objects.service.js';
import { GetObjectService } from './get-object.service.js';
import { IncludeService } from './include.service.js';
import { ObjectLocksRepository } from './object-locks.repository.js';
import { ObjectReaders } from './object-readers.js';
import { ObjectsController } from './objects.controller.js';
import { Readings } from './readings.js';
import { SaveAllService } from './save-all.service.js';
import { UpdateConditions } from './update-conditions.js';

const users = [
  IdentitiesRepository,
  MailAllowancesRepository,
  MailSender,
  MailTokens,
  RemoveUsersService,
  SignUpService,
  UpdatePasswordService,
  UpdateUserService,
  UserAccess,
  UserEvents,
  UserFactory,
  UserReader,
  UserWriter,
  UsersRepository,
  UsersService,
];

const roles = [RoleAccess, RoleReader, RoleWriter, RolesRepository, RolesService];

/** What queries and writes of all classes share. */
const shared = [
  AccountsQueryDatabase,
  FindObjectsService,
  GetObjectService,
  IncludeService,
  ObjectLocksRepository,
  ObjectReaders,
  Readings,
  SaveAllService,
  UpdateConditions,
];

const indexes = FieldIndexesModule.forService({
  classes: new Map([
    ['_User', userQueryClass({ hideContact: false })],
    ['_Role', ROLE_QUERY_CLASS],
  ]),
  contract: accountsIndexesRpc,
  databaseOptions: {
    useFactory: ({ databaseUrl }: AccountsConfig) => accountsDatabase(databaseUrl, 1),
    inject: [ACCOUNTS_CONFIG],
  },
  databaseToken: Database,
});

/** Users and roles. They are one module: a query of one class looks into the other, and a joint save writes both. */
@Module({
  imports: [indexes, OutboxModule.forSchema(ACCOUNTS_SCHEMA), PasswordsModule, PrincipalsModule],
  controllers: [ObjectsController, RolesController, UsersController],
  providers: [...users, ...roles, ...shared],
  exports: [
    IdentitiesRepository,
    MailSender,
    MailTokens,
    OutboxModule,
    SignUpService,
    UserAccess,
    UserWriter,
    UsersRepository,
  ],
})
export class ObjectsModule {}

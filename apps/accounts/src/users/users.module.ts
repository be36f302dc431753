import { Module } from '@nestjs/common';
import { OutboxModule } from '#outbox';
import { ACCOUNTS_SCHEMA } from '../accounts.database.js';
import { ApplicationsModule } from '../applications/applications.module.js';
import { ClassAccess } from '../class-permissions/class-access.js';
import { Clock } from '../clock.js';
import { LockoutsController } from '../lockout/lockouts.controller.js';
import { LockoutsService } from '../lockout/lockouts.service.js';
import { Nobodies } from '../lockout/nobodies.js';
import { LoginMethodsService } from '../login/login-methods.service.js';
import { LoginService } from '../login/login.service.js';
import { FindObjectsService } from '../objects/find-objects.service.js';
import { GetObjectService } from '../objects/get-object.service.js';
import { IncludeService } from '../objects/include.service.js';
import { ObjectReaders } from '../objects/object-readers.js';
import { ObjectsController } from '../objects/objects.controller.js';
import { ObjectsRepository } from '../objects/objects.repository.js';
import { QueryDatabase } from '../objects/query-database.js';
import { Readings } from '../objects/readings.js';
import { SaveAllService } from '../objects/save-all.service.js';
import { UpdateConditions } from '../objects/update-conditions.js';
import { NewPasswords } from '../passwords/new-passwords.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { PasswordJudge } from '../passwords/password-judge.js';
import { CodeRedeemer } from '../phone-numbers/code-redeemer.js';
import { CodeRequestsService } from '../phone-numbers/code-requests.service.js';
import { PhoneEntryService } from '../phone-numbers/phone-entry.service.js';
import { PhoneLoginService } from '../phone-numbers/phone-login.service.js';
import { PhoneNumberResolver } from '../phone-numbers/phone-number.resolver.js';
import { PhoneNumbersController } from '../phone-numbers/phone-numbers.controller.js';
import { PhonePasswordResetService } from '../phone-numbers/phone-password-reset.service.js';
import { PhoneVerificationService } from '../phone-numbers/phone-verification.service.js';
import { SmsAllowancesRepository } from '../phone-numbers/sms-allowances.repository.js';
import { SmsCodeJudge } from '../phone-numbers/sms-code.judge.js';
import { SmsCodesRepository } from '../phone-numbers/sms-codes.repository.js';
import { SmsCodesService } from '../phone-numbers/sms-codes.service.js';
import { SmsSender } from '../phone-numbers/sms-sender.js';
import { PrincipalsRepository } from '../principals/principals.repository.js';
import { PrincipalsService } from '../principals/principals.service.js';
import { RoleAccess } from '../roles/role-access.js';
import { RoleReader } from '../roles/role.reader.js';
import { RoleWriter } from '../roles/role-writer.js';
import { RolesController } from '../roles/roles.controller.js';
import { RolesRepository } from '../roles/roles.repository.js';
import { RolesService } from '../roles/roles.service.js';
import { RefreshSessionService } from '../sessions/refresh-session.service.js';
import { SessionsController } from '../sessions/sessions.controller.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { RemoveUsersService } from './remove-users.service.js';
import { SignUpService } from './sign-up.service.js';
import { UpdatePasswordService } from './update-password.service.js';
import { UpdateUserService } from './update-user.service.js';
import { UserAccess } from './user-access.js';
import { UserReader } from './user.reader.js';
import { UserFactory } from './user.factory.js';
import { UserWriter } from './user-writer.js';
import { UsersController } from './users.controller.js';
import { UsersRepository } from './users.repository.js';
import { UsersService } from './users.service.js';

const users = [
  RemoveUsersService,
  SignUpService,
  UpdatePasswordService,
  UpdateUserService,
  UserAccess,
  UserFactory,
  UserReader,
  UserWriter,
  UsersRepository,
  UsersService,
];

const roles = [RoleAccess, RoleReader, RoleWriter, RolesRepository, RolesService];

/** What queries and writes of all classes share. */
const objects = [
  FindObjectsService,
  GetObjectService,
  IncludeService,
  ObjectReaders,
  ObjectsRepository,
  QueryDatabase,
  Readings,
  SaveAllService,
  UpdateConditions,
];

const access = [ClassAccess, PrincipalsRepository, PrincipalsService, RefreshSessionService, SessionTokens];

const logins = [
  LockoutsService,
  LoginMethodsService,
  LoginService,
  NewPasswords,
  Nobodies,
  PasswordHasher,
  PasswordJudge,
];

const phoneNumbers = [
  CodeRedeemer,
  CodeRequestsService,
  PhoneEntryService,
  PhoneLoginService,
  PhoneNumberResolver,
  PhonePasswordResetService,
  PhoneVerificationService,
  SmsAllowancesRepository,
  SmsCodeJudge,
  SmsCodesRepository,
  SmsCodesService,
  SmsSender,
];

/** Users and roles: their objects know each other, as members and as those who ask. */
@Module({
  imports: [ApplicationsModule, OutboxModule.forSchema(ACCOUNTS_SCHEMA)],
  controllers: [
    LockoutsController,
    ObjectsController,
    PhoneNumbersController,
    RolesController,
    SessionsController,
    UsersController,
  ],
  providers: [Clock, ...users, ...roles, ...objects, ...access, ...logins, ...phoneNumbers],
})
export class UsersModule {}

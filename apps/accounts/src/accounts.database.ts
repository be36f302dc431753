import { type DatabaseOptions, InboxMessageEntity, OUTBOX_ENTITIES } from '#database';
import { FIELD_INDEX_ENTITIES } from '#objects/store';
import { ApplicationEntity, OldApplicationKeyEntity } from './applications/applications.repository.js';
import {
  ApplicationSmsAllowanceEntity,
  MailAllowanceEntity,
  SmsAllowanceEntity,
} from './messages/message-allowances.repository.js';
import * as messagesAndKeys from './migrations/0.1.0-messages-and-keys.js';
import * as usersAndRoles from './migrations/0.1.0-users-and-roles.js';
import { SmsCodeEntity, SmsNumberlessGuessEntity } from './phone-numbers/sms-codes.repository.js';
import { RoleChildEntity, RoleEntity, RoleUserEntity } from './roles/roles.repository.js';
import { SecretRotationEntity } from './secrets/secret-rotations.repository.js';
import { DailyLoginsEntity, IdentityEntity, LockoutEntity, UserEntity } from './users/user.entity.js';

export const ACCOUNTS_SCHEMA = 'accounts';

export function accountsDatabase(url: string, poolSize: number): DatabaseOptions {
  return {
    url,
    poolSize,
    schema: ACCOUNTS_SCHEMA,
    applicationName: 'gatepost-accounts',
    entities: [
      ApplicationEntity,
      OldApplicationKeyEntity,
      UserEntity,
      IdentityEntity,
      DailyLoginsEntity,
      RoleEntity,
      RoleUserEntity,
      RoleChildEntity,
      LockoutEntity,
      ApplicationSmsAllowanceEntity,
      MailAllowanceEntity,
      SmsAllowanceEntity,
      SmsCodeEntity,
      SmsNumberlessGuessEntity,
      SecretRotationEntity,
      InboxMessageEntity,
      ...OUTBOX_ENTITIES,
      ...FIELD_INDEX_ENTITIES,
    ],
    migrations: [...Object.values(usersAndRoles), ...Object.values(messagesAndKeys)],
  };
}

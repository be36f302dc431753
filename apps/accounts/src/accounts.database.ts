import { type DatabaseOptions, InboxMessageEntity, OUTBOX_ENTITIES } from '#database';
import { FIELD_INDEX_ENTITIES } from '#objects/store';
import { ApplicationEntity, OldApplicationKeyEntity } from './applications/applications.repository.js';
import {
  ApplicationSmsAllowanceEntity,
  MailAllowanceEntity,
  SmsAllowanceEntity,
} from './messages/message-allowances.repository.js';
import {
  AddForwardSecret1796730000000,
  CountLogins1796795000000,
  CoverSearches1796798000000,
  CreateAccounts1795257600000,
  CreateFieldIndexes1796710000000,
  CreateIdentities1795800000000,
  CreateRoles1795700000000,
  ImportUsers1796720000000,
  NoteEarlierCredentials1796820000000,
  SearchFieldsAtOnce1796500000000,
  SearchUsers1796780000000,
} from './migrations/0.1.0-users-and-roles.js';
import {
  AddEventOrigins1796300000000,
  CreateLockouts1795700100000,
  CreateMailLinks1795950000000,
  CreateRotations1796400000000,
  CreateSmsCodes1795700200000,
  LeaseOutbox1796600000000,
  LimitTextMessages1796840000000,
} from './migrations/0.1.0-messages-and-keys.js';
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
    migrations: [
      CreateAccounts1795257600000,
      CreateRoles1795700000000,
      CreateLockouts1795700100000,
      CreateSmsCodes1795700200000,
      CreateIdentities1795800000000,
      CreateMailLinks1795950000000,
      AddEventOrigins1796300000000,
      CreateRotations1796400000000,
      SearchFieldsAtOnce1796500000000,
      LeaseOutbox1796600000000,
      CreateFieldIndexes1796710000000,
      ImportUsers1796720000000,
      AddForwardSecret1796730000000,
      SearchUsers1796780000000,
      CountLogins1796795000000,
      CoverSearches1796798000000,
      NoteEarlierCredentials1796820000000,
      LimitTextMessages1796840000000,
    ],
  };
}

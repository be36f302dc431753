import { Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { ApplicationEntity } from '../applications/applications.repository.js';

@Entity('users')
@ForeignKey(() => ApplicationEntity, ['appId'], ['id'], { name: 'users_app_id_fkey' })
@Unique('users_email_key', ['appId', 'email'])
@Unique('users_mobile_phone_number_key', ['appId', 'mobilePhoneNumber'])
@Unique('users_session_token_key', ['appId', 'sessionTokenHash'])
@Unique('users_username_key', ['appId', 'username'])
@Index('users_created_at_idx', ['appId', 'createdAt', 'objectId'])
@Index('users_fields_idx', { synchronize: false })
@Index('users_lower_username_idx', { synchronize: false })
@Index('users_lower_email_idx', { synchronize: false })
export class UserEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'users_pkey' })
  appId!: string;

  @PrimaryColumn({ type: 'text', name: 'object_id', collation: 'C', primaryKeyConstraintName: 'users_pkey' })
  objectId!: string;

  @Column({ type: 'text', collation: 'C' })
  username!: string;

  @Column({ type: 'text', nullable: true, collation: 'C' })
  email!: string | null;

  /** null: set while verification was off, or no address (specification, emailVerified). */
  @Column('boolean', { name: 'email_verified', nullable: true })
  emailVerified!: boolean | null;

  @Column({ type: 'text', name: 'mobile_phone_number', nullable: true, collation: 'C' })
  mobilePhoneNumber!: string | null;

  @Column('boolean', { name: 'mobile_phone_verified', default: false })
  mobilePhoneVerified!: boolean;

  @Column('text', { name: 'password_hash', nullable: true })
  passwordHash!: string | null;

  @Column('bytea', { name: 'session_token_hash' })
  sessionTokenHash!: Buffer;

  @Column('text', { name: 'sealed_session_token' })
  sealedSessionToken!: string;

  @Column('jsonb', { nullable: true })
  acl!: unknown;

  @Column('jsonb', { default: {} })
  fields!: unknown;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3 })
  createdAt!: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3 })
  updatedAt!: Date;

  @Column('text', { name: 'sealed_identities', nullable: true })
  sealedIdentities!: string | null;

  /** Counts changes of the address: mailed links are valid for one version. */
  @Column('integer', { name: 'email_version', default: 0 })
  emailVersion!: number;

  @Column('integer', { name: 'password_version', default: 0 })
  passwordVersion!: number;

  /** The time of the last change where a login has moved `updatedAt` since; null: `updatedAt` is that time. */
  @Column({ type: 'timestamptz', name: 'last_change_at', precision: 3, nullable: true })
  lastChangeAt!: Date | null;

  /** A keyed hash of the imported password hash, by which a second import recognises it. */
  @Column('bytea', { name: 'imported_password_hash', nullable: true })
  importedPasswordHash!: Buffer | null;

  /** An import without a password has stored this version: the password is that of an earlier version, or there is none. */
  @Column('boolean', { name: 'has_earlier_password', default: false })
  hasEarlierPassword!: boolean;

  @Column('boolean', { name: 'has_earlier_token', default: false })
  hasEarlierToken!: boolean;
}

@Entity('identities')
@ForeignKey(() => UserEntity, ['appId', 'userId'], ['appId', 'objectId'], {
  name: 'identities_user_fkey',
  onDelete: 'CASCADE',
})
@Unique('identities_user_platform_key', ['appId', 'userId', 'platform'])
export class IdentityEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'identities_pkey' })
  appId!: string;

  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'identities_pkey' })
  platform!: string;

  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'identities_pkey' })
  uid!: string;

  @Column('text', { name: 'user_id' })
  userId!: string;

  @Column('text', { nullable: true })
  kind!: string | null;

  @Column('boolean', { name: 'is_verified' })
  isVerified!: boolean;
}

@Entity('daily_logins')
export class DailyLoginsEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'daily_logins_pkey' })
  appId!: string;

  @PrimaryColumn('date', { primaryKeyConstraintName: 'daily_logins_pkey' })
  day!: string;

  @Column('bigint')
  logins!: string;
}

@Entity('lockouts')
@Index('lockouts_expires_at_idx', ['expiresAt'])
@Index('lockouts_locked_until_idx', ['appId', 'lockedUntil', 'userId'], { where: 'locked_until IS NOT NULL' })
export class LockoutEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'lockouts_pkey' })
  appId!: string;

  @PrimaryColumn({ type: 'text', name: 'user_id', collation: 'C', primaryKeyConstraintName: 'lockouts_pkey' })
  userId!: string;

  @Column('jsonb')
  attempts!: unknown;

  @Column({ type: 'timestamptz', name: 'locked_until', precision: 3, nullable: true })
  lockedUntil!: Date | null;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  expiresAt!: Date;
}

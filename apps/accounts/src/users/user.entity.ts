import { Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { TimeColumn } from '#database';
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
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn({ type: 'text', collation: 'C' })
  objectId!: string;

  @Column({ type: 'text', collation: 'C' })
  username!: string;

  @Column({ type: 'text', nullable: true, collation: 'C' })
  email!: string | null;

  /** null: set while verification was off, or no address (specification, emailVerified). */
  @Column('boolean', { nullable: true })
  emailVerified!: boolean | null;

  @Column({ type: 'text', nullable: true, collation: 'C' })
  mobilePhoneNumber!: string | null;

  @Column('boolean', { default: false })
  mobilePhoneVerified!: boolean;

  @Column('text', { nullable: true })
  passwordHash!: string | null;

  @Column('bytea')
  sessionTokenHash!: Buffer;

  @Column('text')
  sealedSessionToken!: string;

  @Column('jsonb', { nullable: true })
  acl!: unknown;

  @Column('jsonb', { default: {} })
  fields!: unknown;

  @TimeColumn()
  createdAt!: Date;

  @TimeColumn()
  updatedAt!: Date;

  @Column('text', { nullable: true })
  sealedIdentities!: string | null;

  @Column('integer', { default: 0 })
  emailVersion!: number;
  @Column('integer', { default: 0 })
  passwordVersion!: number;

  /** The time of the last change where a login has moved `updatedAt` since; null: `updatedAt` is that time. */
  @TimeColumn({ nullable: true })
  lastChangeAt!: Date | null;

  /** Keyed hashes of the imported password hash and session token, by which a second import recognises them. */
  @Column('bytea', { nullable: true })
  importedPasswordHash!: Buffer | null;
  @Column('bytea', { nullable: true })
  importedTokenHash!: Buffer | null;

  /** An import without a password has stored this version: the password is that of an earlier version, or there is none. */
  @Column('boolean', { default: false })
  hasEarlierPassword!: boolean;
  @Column('boolean', { default: false })
  hasEarlierToken!: boolean;
}

@Entity('identities')
@ForeignKey(() => UserEntity, ['appId', 'userId'], ['appId', 'objectId'], {
  name: 'identities_user_fkey',
  onDelete: 'CASCADE',
})
@Unique('identities_user_platform_key', ['appId', 'userId', 'platform'])
export class IdentityEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn({ type: 'text', collation: 'C' })
  platform!: string;

  @PrimaryColumn({ type: 'text', collation: 'C' })
  uid!: string;

  @Column('text')
  userId!: string;

  @Column('text', { nullable: true })
  kind!: string | null;

  @Column('boolean')
  isVerified!: boolean;
}

@Entity('daily_logins')
export class DailyLoginsEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('date')
  day!: string;

  @Column('bigint')
  logins!: string;
}

@Entity('lockouts')
@Index('lockouts_expires_at_idx', ['expiresAt'])
@Index('lockouts_locked_until_idx', ['appId', 'lockedUntil', 'userId'], { where: 'locked_until IS NOT NULL' })
export class LockoutEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn({ type: 'text', collation: 'C' })
  userId!: string;

  @Column('jsonb')
  attempts!: unknown;

  @TimeColumn({ nullable: true })
  lockedUntil!: Date | null;

  @TimeColumn()
  expiresAt!: Date;
}

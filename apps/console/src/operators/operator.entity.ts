import { Check, Column, Entity, ForeignKey, Generated, Index, PrimaryColumn, Unique } from 'typeorm';
import type { SavedView } from '#console-api';
import { TimeColumn } from '#database';

@Entity('operators')
@Unique('operators_address_key', ['address'])
@Index('operators_first_key', ['isFirst'], { unique: true, where: 'is_first' })
@Index('operators_oidc_key', ['oidcIssuer', 'oidcSubject'], { unique: true, where: 'oidc_subject IS NOT NULL' })
export class OperatorEntity {
  @PrimaryColumn('uuid')
  @Generated('uuid')
  id!: string;

  @Column('text')
  name!: string;

  /** In lower case. */
  @Column('text')
  address!: string;

  /** Null with a null `oidcSubject`: invited. */
  @Column('text', { nullable: true })
  passwordHash!: string | null;

  @Column('text', { nullable: true })
  oidcIssuer!: string | null;

  /** `sub` of the issuer's account that signs the operator in. */
  @Column('text', { nullable: true })
  oidcSubject!: string | null;

  /** Each sign-in sets ownership and grants by the groups of the account. */
  @Column('boolean', { default: false })
  grantsByGroups!: boolean;

  @Column('boolean', { default: false })
  isOwner!: boolean;

  @Column('boolean', { default: false })
  isFirst!: boolean;

  @Column('boolean', { default: false })
  isDisabled!: boolean;

  @Column('text', { nullable: true })
  language!: string | null;

  @Column('text', { nullable: true })
  timeZone!: string | null;

  @Column('text', { default: 'auto' })
  theme!: string;

  @TimeColumn({ default: () => 'now()' })
  createdAt!: Date;

  @TimeColumn({ nullable: true })
  lastSeenAt!: Date | null;
}

@Entity('grants')
@Check('grants_role_check', `role IN ('developer', 'support', 'viewer')`)
export class GrantEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OperatorEntity, { name: 'grants_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string;

  @PrimaryColumn('text')
  appId!: string;

  @Column('text')
  role!: string;
}

@Entity('sessions')
@Unique('sessions_token_hash_key', ['tokenHash'])
export class SessionEntity {
  @PrimaryColumn('uuid')
  @Generated('uuid')
  id!: string;

  /** SHA-256 of the cookie's value. */
  @Column('bytea')
  tokenHash!: Buffer;

  @Column('uuid')
  @Index('sessions_operator_id_idx')
  @ForeignKey(() => OperatorEntity, { name: 'sessions_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string;

  /** SHA-256 of the credential that began the session (`CREDENTIAL_TAGS`): the session ends with the password, or with the connected account. */
  @Column('bytea')
  passwordTag!: Buffer;

  @TimeColumn({ default: () => 'now()' })
  createdAt!: Date;

  @TimeColumn({ default: () => 'now()' })
  usedAt!: Date;

  @TimeColumn()
  @Index('sessions_ends_at_idx')
  endsAt!: Date;

  @TimeColumn({ nullable: true })
  provenAt!: Date | null;

  @Column('text')
  network!: string;

  @Column('text')
  browser!: string;
}

@Entity('links')
@Check('links_kind_check', `kind IN ('setUp', 'invitation', 'recovery')`)
export class LinkEntity {
  @PrimaryColumn('bytea')
  tokenHash!: Buffer;

  @Column('text')
  kind!: string;

  @Column('uuid', { nullable: true })
  @Index('links_operator_id_idx')
  @ForeignKey(() => OperatorEntity, { name: 'links_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string | null;

  @TimeColumn()
  endsAt!: Date;

  @TimeColumn({ nullable: true })
  usedAt!: Date | null;
}

@Entity('attempts')
export class AttemptsEntity {
  @PrimaryColumn('text')
  key!: string;

  @Column('timestamptz', { array: true })
  times!: Date[];

  @TimeColumn({ default: () => 'now()' })
  @Index('attempts_changed_at_idx')
  changedAt!: Date;
}

/** One secret in use (RFC 6238), and a new one that waits for a first code. */
@Entity('one_time_codes')
export class OneTimeCodesEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OperatorEntity, { name: 'one_time_codes_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string;

  @PrimaryColumn('boolean')
  isConfirmed!: boolean;

  @Column('text')
  sealedSecret!: string;

  /** The time step of the code that was used last: each code counts once. */
  @Column('bigint', { nullable: true })
  lastStep!: string | null;
}

/** Replaces a second factor once. Stored as SHA-256. */
@Entity('recovery_codes')
export class RecoveryCodeEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OperatorEntity, { name: 'recovery_codes_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string;

  @PrimaryColumn('bytea')
  codeHash!: Buffer;
}

@Entity('passkeys')
export class PasskeyEntity {
  @PrimaryColumn('text')
  id!: string;

  @Column('uuid')
  @Index('passkeys_operator_id_idx')
  @ForeignKey(() => OperatorEntity, { name: 'passkeys_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string;

  @Column('text')
  name!: string;

  @Column('bytea')
  publicKey!: Buffer;

  /** Uses counted by the authenticator; 0 if it does not count. */
  @Column('bigint')
  counter!: string;

  @Column('text', { array: true })
  transports!: string[];

  @TimeColumn({ default: () => 'now()' })
  createdAt!: Date;

  @TimeColumn({ nullable: true })
  lastUsedAt!: Date | null;
}

@Entity('test_devices')
export class TestDeviceEntity {
  @PrimaryColumn('uuid')
  @ForeignKey(() => OperatorEntity, { name: 'test_devices_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string;

  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  deviceId!: string;

  @TimeColumn({ default: () => 'now()' })
  markedAt!: Date;
}

@Entity('saved_views')
@Unique('saved_views_name_key', ['operatorId', 'appId', 'page', 'name'])
export class SavedViewEntity {
  @PrimaryColumn('uuid')
  @Generated('uuid')
  id!: string;

  @Column('uuid')
  @ForeignKey(() => OperatorEntity, { name: 'saved_views_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string;

  @Column('text')
  @Index('saved_views_app_id_idx')
  appId!: string;

  @Column('text')
  page!: SavedView['page'];

  @Column('text')
  name!: string;

  @Column('jsonb')
  search!: SavedView['search'];

  @Column('boolean')
  isShared!: boolean;
}

/** An authenticator may answer it once. Stored as SHA-256. */
@Entity('challenges')
export class ChallengeEntity {
  @PrimaryColumn('bytea')
  challengeHash!: Buffer;

  /** Null: for a sign-in, before the operator is known. */
  @Column('uuid', { nullable: true })
  @Index('challenges_operator_id_idx')
  @ForeignKey(() => OperatorEntity, { name: 'challenges_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string | null;

  @TimeColumn()
  @Index('challenges_ends_at_idx')
  endsAt!: Date;
}

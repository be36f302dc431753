import { Check, Column, Entity, ForeignKey, Generated, Index, PrimaryColumn, Unique } from 'typeorm';

const time = { type: 'timestamptz', precision: 3 } as const;

@Entity('operators')
@Unique('operators_address_key', ['address'])
@Index('operators_first_key', ['isFirst'], { unique: true, where: 'is_first' })
@Index('operators_oidc_key', ['oidcIssuer', 'oidcSubject'], { unique: true, where: 'oidc_subject IS NOT NULL' })
export class OperatorEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'operators_pkey' })
  @Generated('uuid')
  id!: string;

  @Column('text')
  name!: string;

  /** In lower case. */
  @Column('text')
  address!: string;

  /** Null with a null `oidcSubject`: invited. */
  @Column('text', { name: 'password_hash', nullable: true })
  passwordHash!: string | null;

  @Column('text', { name: 'oidc_issuer', nullable: true })
  oidcIssuer!: string | null;

  /** `sub` of the issuer's account that signs the operator in. */
  @Column('text', { name: 'oidc_subject', nullable: true })
  oidcSubject!: string | null;

  /** Each sign-in sets ownership and grants by the groups of the account. */
  @Column('boolean', { name: 'grants_by_groups', default: false })
  grantsByGroups!: boolean;

  @Column('boolean', { name: 'is_owner', default: false })
  isOwner!: boolean;

  @Column('boolean', { name: 'is_first', default: false })
  isFirst!: boolean;

  @Column('boolean', { name: 'is_disabled', default: false })
  isDisabled!: boolean;

  @Column('text', { nullable: true })
  language!: string | null;

  @Column('text', { name: 'time_zone', nullable: true })
  timeZone!: string | null;

  @Column('text', { default: 'auto' })
  theme!: string;

  @Column({ ...time, name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column({ ...time, name: 'last_seen_at', nullable: true })
  lastSeenAt!: Date | null;
}

@Entity('grants')
@Check('grants_role_check', `role IN ('developer', 'support', 'viewer')`)
export class GrantEntity {
  @PrimaryColumn('uuid', { name: 'operator_id', primaryKeyConstraintName: 'grants_pkey' })
  @ForeignKey(() => OperatorEntity, { name: 'grants_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string;

  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'grants_pkey' })
  appId!: string;

  @Column('text')
  role!: string;
}

@Entity('sessions')
@Unique('sessions_token_hash_key', ['tokenHash'])
export class SessionEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'sessions_pkey' })
  @Generated('uuid')
  id!: string;

  /** SHA-256 of the cookie's value. */
  @Column('bytea', { name: 'token_hash' })
  tokenHash!: Buffer;

  @Column('uuid', { name: 'operator_id' })
  @Index('sessions_operator_id_idx')
  @ForeignKey(() => OperatorEntity, { name: 'sessions_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string;

  /** SHA-256 of the credential that began the session (`CREDENTIAL_TAGS`): the session ends with the password, or with the connected account. */
  @Column('bytea', { name: 'password_tag' })
  passwordTag!: Buffer;

  @Column({ ...time, name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column({ ...time, name: 'used_at', default: () => 'now()' })
  usedAt!: Date;

  @Column({ ...time, name: 'ends_at' })
  @Index('sessions_ends_at_idx')
  endsAt!: Date;

  @Column({ ...time, name: 'proven_at', nullable: true })
  provenAt!: Date | null;

  @Column('text')
  network!: string;

  @Column('text')
  browser!: string;
}

@Entity('links')
@Check('links_kind_check', `kind IN ('setUp', 'invitation', 'recovery')`)
export class LinkEntity {
  @PrimaryColumn('bytea', { name: 'token_hash', primaryKeyConstraintName: 'links_pkey' })
  tokenHash!: Buffer;

  @Column('text')
  kind!: string;

  @Column('uuid', { name: 'operator_id', nullable: true })
  @Index('links_operator_id_idx')
  @ForeignKey(() => OperatorEntity, { name: 'links_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string | null;

  @Column({ ...time, name: 'ends_at' })
  endsAt!: Date;

  @Column({ ...time, name: 'used_at', nullable: true })
  usedAt!: Date | null;
}

@Entity('attempts')
export class AttemptsEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'attempts_pkey' })
  key!: string;

  @Column('timestamptz', { array: true })
  times!: Date[];

  @Column({ ...time, name: 'changed_at', default: () => 'now()' })
  @Index('attempts_changed_at_idx')
  changedAt!: Date;
}

/** One secret in use (RFC 6238), and a new one that waits for a first code. */
@Entity('one_time_codes')
export class OneTimeCodesEntity {
  @PrimaryColumn('uuid', { name: 'operator_id', primaryKeyConstraintName: 'one_time_codes_pkey' })
  @ForeignKey(() => OperatorEntity, { name: 'one_time_codes_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string;

  @PrimaryColumn('boolean', { name: 'is_confirmed', primaryKeyConstraintName: 'one_time_codes_pkey' })
  isConfirmed!: boolean;

  @Column('text', { name: 'sealed_secret' })
  sealedSecret!: string;

  /** The time step of the code that was used last: each code counts once. */
  @Column('bigint', { name: 'last_step', nullable: true })
  lastStep!: string | null;
}

/** Replaces a second factor once. Stored as SHA-256. */
@Entity('recovery_codes')
export class RecoveryCodeEntity {
  @PrimaryColumn('uuid', { name: 'operator_id', primaryKeyConstraintName: 'recovery_codes_pkey' })
  @ForeignKey(() => OperatorEntity, { name: 'recovery_codes_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string;

  @PrimaryColumn('bytea', { name: 'code_hash', primaryKeyConstraintName: 'recovery_codes_pkey' })
  codeHash!: Buffer;
}

@Entity('passkeys')
export class PasskeyEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'passkeys_pkey' })
  id!: string;

  @Column('uuid', { name: 'operator_id' })
  @Index('passkeys_operator_id_idx')
  @ForeignKey(() => OperatorEntity, { name: 'passkeys_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string;

  @Column('text')
  name!: string;

  @Column('bytea', { name: 'public_key' })
  publicKey!: Buffer;

  /** Uses counted by the authenticator; 0 if it does not count. */
  @Column('bigint')
  counter!: string;

  @Column('text', { array: true })
  transports!: string[];

  @Column({ ...time, name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column({ ...time, name: 'last_used_at', nullable: true })
  lastUsedAt!: Date | null;
}

@Entity('test_devices')
export class TestDeviceEntity {
  @PrimaryColumn('uuid', { name: 'operator_id', primaryKeyConstraintName: 'test_devices_pkey' })
  @ForeignKey(() => OperatorEntity, { name: 'test_devices_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string;

  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'test_devices_pkey' })
  appId!: string;

  /** The object id of the installation. */
  @PrimaryColumn('text', { name: 'device_id', primaryKeyConstraintName: 'test_devices_pkey' })
  deviceId!: string;

  @Column({ ...time, name: 'marked_at', default: () => 'now()' })
  markedAt!: Date;
}

/** An authenticator may answer it once. Stored as SHA-256. */
@Entity('challenges')
export class ChallengeEntity {
  @PrimaryColumn('bytea', { name: 'challenge_hash', primaryKeyConstraintName: 'challenges_pkey' })
  challengeHash!: Buffer;

  /** Null: for a sign-in, before the operator is known. */
  @Column('uuid', { name: 'operator_id', nullable: true })
  @Index('challenges_operator_id_idx')
  @ForeignKey(() => OperatorEntity, { name: 'challenges_operator_id_fkey', onDelete: 'CASCADE' })
  operatorId!: string | null;

  @Column({ ...time, name: 'ends_at' })
  @Index('challenges_ends_at_idx')
  endsAt!: Date;
}

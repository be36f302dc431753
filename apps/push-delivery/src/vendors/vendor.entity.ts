import { Column, Entity, Generated, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { InstallationEntity } from '../pushes/installation.entity.js';
import { NotificationEntity } from '../pushes/push.entity.js';

/** The credentials of an application for the push service of a vendor, sealed. */
@Entity('vendor_credentials')
export class VendorCredentialEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'vendor_credentials_pkey' })
  appId!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'vendor_credentials_pkey' })
  vendor!: string;

  /** The value of `deviceProfile` that selects them. */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'vendor_credentials_pkey' })
  profile!: string;

  /** The team id of APNs; empty for other vendors. */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'vendor_credentials_pkey' })
  part!: string;

  /** The fields that are not secret. */
  @Column('jsonb')
  shown!: Readonly<Record<string, string>>;

  /** The sealed JSON of the secret fields. */
  @Column('text', { name: 'sealed_secrets' })
  sealedSecrets!: string;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3, default: () => 'now()' })
  updatedAt!: Date;
}

/** Columns of a foreign key to a push or an installation. */
const PUSH_COLUMNS = [
  { name: 'app_id', referencedColumnName: 'appId' },
  { name: 'object_id', referencedColumnName: 'objectId' },
];

/** Devices of a push that wait for the same lane of a vendor. */
@Entity('vendor_batches')
@Index('vendor_batches_push_idx', ['appId', 'objectId'])
@Index('vendor_batches_waiting_idx', ['isBulk', 'nextAt', 'id'])
export class VendorBatchEntity {
  @PrimaryColumn('bigint', { primaryKeyConstraintName: 'vendor_batches_pkey' })
  // The type of the decorator lacks the strategy that TypeORM knows.
  @Generated('identity' as 'increment')
  id!: string;

  @Column('text', { name: 'app_id' })
  appId!: string;

  @Column('text', { name: 'object_id' })
  objectId!: string;

  @ManyToOne(() => NotificationEntity, { onDelete: 'CASCADE' })
  @JoinColumn(PUSH_COLUMNS.map((column) => ({ ...column, foreignKeyConstraintName: 'vendor_batches_push_fkey' })))
  push!: NotificationEntity;

  /** The vendor, the credentials and the environment (`laneName`). */
  @Column('text')
  lane!: string;

  @Column('boolean', { name: 'is_bulk' })
  isBulk!: boolean;

  /** Object ids of installations. */
  @Column('text', { array: true })
  targets!: string[];

  /** The badges of the targets, in their order, where the push counts badges up. */
  @Column('integer', { array: true, nullable: true })
  badges!: number[] | null;

  /** The number of attempts that ended without a result for the targets. */
  @Column('smallint', { default: 0 })
  attempt!: number;

  /** The number of these attempts that the vendor has answered: their keys are not used again. */
  @Column('smallint', { name: 'key_no', default: 0 })
  keyNo!: number;

  @Column({ type: 'timestamptz', name: 'next_at', precision: 3 })
  nextAt!: Date;

  /** No attempt begins after this time. */
  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  endsAt!: Date;

  @Column('text', { name: 'lease_owner', nullable: true })
  leaseOwner!: string | null;

  @Column({ type: 'timestamptz', name: 'lease_until', precision: 3, nullable: true })
  leaseUntil!: Date | null;
}

/** The results of a push in the channel of a vendor. */
@Entity('vendor_counts')
export class VendorCountsEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'vendor_counts_pkey' })
  appId!: string;

  @PrimaryColumn('text', { name: 'object_id', primaryKeyConstraintName: 'vendor_counts_pkey' })
  objectId!: string;

  @ManyToOne(() => NotificationEntity, { onDelete: 'CASCADE' })
  @JoinColumn(PUSH_COLUMNS.map((column) => ({ ...column, foreignKeyConstraintName: 'vendor_counts_push_fkey' })))
  push!: NotificationEntity;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'vendor_counts_pkey' })
  vendor!: string;

  @Column('integer', { default: 0 })
  targeted!: number;

  @Column('integer', { default: 0 })
  accepted!: number;

  @Column('integer', { default: 0 })
  invalid!: number;

  @Column('integer', { default: 0 })
  rejected!: number;

  @Column('integer', { default: 0 })
  expired!: number;

  /** The number of devices by reason. */
  @Column('jsonb', { default: {} })
  reasons!: Readonly<Record<string, number>>;
}

const timestamp = (name: string) => ({ type: 'timestamptz' as const, name, precision: 3 });

/** The state of a lane that operators and the answers of the vendor have set. */
@Entity('vendor_lanes')
export class VendorLaneEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'vendor_lanes_pkey' })
  appId!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'vendor_lanes_pkey' })
  lane!: string;

  /** The version of the credentials that the following columns are about. */
  @Column(timestamp('credentials_at'))
  credentialsAt!: Date;

  /** The operator has paused the lane; null: it sends. */
  @Column({ ...timestamp('paused_at'), nullable: true })
  pausedAt!: Date | null;

  /** Until then the operator vouches for the credentials. */
  @Column({ ...timestamp('trusted_until'), nullable: true })
  trustedUntil!: Date | null;

  /** Since then, too many tokens are said to be invalid; null: no doubt. */
  @Column({ ...timestamp('doubted_at'), nullable: true })
  doubtedAt!: Date | null;

  /** The vendor has accepted a token with these credentials. */
  @Column('boolean', { name: 'is_proven', default: false })
  isProven!: boolean;

  /** The counts are halved each five minutes from then on. */
  @Column({ ...timestamp('counted_since'), default: () => 'now()' })
  countedSince!: Date;

  /** Tokens with a final answer. */
  @Column('integer', { default: 0 })
  answers!: number;

  /** Those that only the right credentials can have. */
  @Column('integer', { default: 0 })
  good!: number;

  /** Those that the vendor calls invalid, as it would with wrong credentials. */
  @Column('integer', { default: 0 })
  doubtful!: number;

  /** The last recorded answer. */
  @Column({ ...timestamp('used_at'), nullable: true })
  usedAt!: Date | null;

  /** When a process has last asked for the vendor's list of invalid tokens. */
  @Column({ ...timestamp('list_asked_at'), nullable: true })
  listAskedAt!: Date | null;

  /** When that list was last asked for and read. */
  @Column({ ...timestamp('list_read_at'), nullable: true })
  listReadAt!: Date | null;
}

/** An Apple device that has taken a push of the environment for development: its token is wrong in the other one. */
@Entity('development_devices')
export class DevelopmentDeviceEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'development_devices_pkey' })
  appId!: string;

  @PrimaryColumn('text', { name: 'object_id', primaryKeyConstraintName: 'development_devices_pkey' })
  objectId!: string;

  @ManyToOne(() => InstallationEntity, { onDelete: 'CASCADE' })
  @JoinColumn(
    PUSH_COLUMNS.map((column) => ({ ...column, foreignKeyConstraintName: 'development_devices_installation_fkey' })),
  )
  installation!: InstallationEntity;
}

/** A process that sends to vendors, which reports twice a minute. */
@Entity('vendor_senders')
export class VendorSenderEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'vendor_senders_pkey' })
  instance!: string;

  @Column(timestamp('seen_at'))
  seenAt!: Date;
}

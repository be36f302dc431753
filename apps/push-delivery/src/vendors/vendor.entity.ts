import { Column, Entity, Generated, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { InstallationEntity, NotificationEntity } from '../pushes/push.entity.js';

@Entity('vendor_credentials')
export class VendorCredentialEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'vendor_credentials_pkey' })
  appId!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'vendor_credentials_pkey' })
  vendor!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'vendor_credentials_pkey' })
  profile!: string;

  /** The team id of APNs; empty for other vendors. */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'vendor_credentials_pkey' })
  part!: string;

  @Column('jsonb')
  shown!: Readonly<Record<string, string>>;

  @Column('text', { name: 'sealed_secrets' })
  sealedSecrets!: string;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3, default: () => 'now()' })
  updatedAt!: Date;
}

const PUSH_COLUMNS = [
  { name: 'app_id', referencedColumnName: 'appId' },
  { name: 'object_id', referencedColumnName: 'objectId' },
];

@Entity('vendor_batches')
@Index('vendor_batches_expires_at_idx', ['endsAt'])
@Index('vendor_batches_lane_idx', ['isBulk', 'appId', 'lane', 'nextAt', 'id'])
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

  @Column('text')
  lane!: string;

  @Column('boolean', { name: 'is_bulk' })
  isBulk!: boolean;

  @Column('text', { array: true })
  targets!: string[];

  @Column('integer', { array: true, nullable: true })
  badges!: number[] | null;

  @Column('smallint', { default: 0 })
  attempt!: number;

  /** Attempts that the vendor has answered: their keys are not used again. */
  @Column('smallint', { name: 'key_no', default: 0 })
  keyNo!: number;

  @Column({ type: 'timestamptz', name: 'next_at', precision: 3 })
  nextAt!: Date;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  endsAt!: Date;

  @Column('text', { name: 'lease_owner', nullable: true })
  leaseOwner!: string | null;

  @Column({ type: 'timestamptz', name: 'lease_until', precision: 3, nullable: true })
  leaseUntil!: Date | null;
}

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

  @Column('jsonb', { default: {} })
  reasons!: Readonly<Record<string, number>>;
}

const timestamp = (name: string) => ({ type: 'timestamptz' as const, name, precision: 3 });

@Entity('vendor_lanes')
export class VendorLaneEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'vendor_lanes_pkey' })
  appId!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'vendor_lanes_pkey' })
  lane!: string;

  /** The credentials that the following columns are about. */
  @Column(timestamp('credentials_at'))
  credentialsAt!: Date;

  @Column({ ...timestamp('paused_at'), nullable: true })
  pausedAt!: Date | null;

  @Column({ ...timestamp('trusted_until'), nullable: true })
  trustedUntil!: Date | null;

  @Column({ ...timestamp('doubted_at'), nullable: true })
  doubtedAt!: Date | null;

  @Column('boolean', { name: 'is_proven', default: false })
  isProven!: boolean;

  /** The counts are halved each five minutes from then on. */
  @Column({ ...timestamp('counted_since'), default: () => 'now()' })
  countedSince!: Date;

  @Column('integer', { default: 0 })
  answers!: number;

  /** Only the right credentials have such answers. */
  @Column('integer', { default: 0 })
  good!: number;

  /** Wrong credentials would have the same answers. */
  @Column('integer', { default: 0 })
  doubtful!: number;

  @Column({ ...timestamp('used_at'), nullable: true })
  usedAt!: Date | null;

  @Column({ ...timestamp('list_asked_at'), nullable: true })
  listAskedAt!: Date | null;

  @Column({ ...timestamp('list_read_at'), nullable: true })
  listReadAt!: Date | null;
}

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

@Entity('vendor_senders')
export class VendorSenderEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'vendor_senders_pkey' })
  instance!: string;

  @Column(timestamp('seen_at'))
  seenAt!: Date;
}

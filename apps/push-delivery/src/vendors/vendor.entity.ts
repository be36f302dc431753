import { Column, Entity, Generated, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
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

  @Column({ type: 'timestamptz', name: 'next_at', precision: 3 })
  nextAt!: Date;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  expiresAt!: Date;

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

import { Column, Entity, Generated, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { SealedCredentialColumns, TimeColumn } from '#database';
import { InstallationEntity, NotificationEntity } from '../pushes/push.entity.js';

@Entity('vendor_credentials')
export class VendorCredentialEntity extends SealedCredentialColumns {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  vendor!: string;

  @PrimaryColumn('text')
  profile!: string;

  /** The team id of APNs; empty for other vendors. */
  @PrimaryColumn('text')
  part!: string;
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
  @PrimaryColumn('bigint')
  // The type of the decorator lacks the strategy that TypeORM knows.
  @Generated('identity' as 'increment')
  id!: string;

  @Column('text')
  appId!: string;

  @Column('text')
  objectId!: string;

  @ManyToOne(() => NotificationEntity, { onDelete: 'CASCADE' })
  @JoinColumn(PUSH_COLUMNS.map((column) => ({ ...column, foreignKeyConstraintName: 'vendor_batches_push_fkey' })))
  push!: NotificationEntity;

  @Column('text')
  lane!: string;

  @Column('boolean')
  isBulk!: boolean;

  @Column('text', { array: true })
  targets!: string[];

  @Column('integer', { array: true, nullable: true })
  badges!: number[] | null;

  @Column('smallint', { default: 0 })
  attempt!: number;

  /** Attempts that the vendor has answered: their keys are not used again. */
  @Column('smallint', { default: 0 })
  keyNo!: number;

  @TimeColumn()
  nextAt!: Date;

  @TimeColumn({ name: 'expires_at' })
  endsAt!: Date;

  @Column('text', { nullable: true })
  leaseOwner!: string | null;

  @TimeColumn({ nullable: true })
  leaseUntil!: Date | null;
}

@Entity('vendor_counts')
export class VendorCountsEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  objectId!: string;

  @ManyToOne(() => NotificationEntity, { onDelete: 'CASCADE' })
  @JoinColumn(PUSH_COLUMNS.map((column) => ({ ...column, foreignKeyConstraintName: 'vendor_counts_push_fkey' })))
  push!: NotificationEntity;

  @PrimaryColumn('text')
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

@Entity('vendor_lanes')
export class VendorLaneEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  lane!: string;

  /** The credentials that the following columns are about. */
  @TimeColumn()
  credentialsAt!: Date;

  @TimeColumn({ nullable: true })
  pausedAt!: Date | null;

  @TimeColumn({ nullable: true })
  trustedUntil!: Date | null;

  @TimeColumn({ nullable: true })
  doubtedAt!: Date | null;

  @Column('boolean', { default: false })
  isProven!: boolean;

  /** The counts are halved each five minutes from then on. */
  @TimeColumn({ default: () => 'now()' })
  countedSince!: Date;

  @Column('integer', { default: 0 })
  answers!: number;

  /** Only the right credentials have such answers. */
  @Column('integer', { default: 0 })
  good!: number;

  /** Wrong credentials would have the same answers. */
  @Column('integer', { default: 0 })
  doubtful!: number;

  @TimeColumn({ nullable: true })
  usedAt!: Date | null;

  @TimeColumn({ nullable: true })
  listAskedAt!: Date | null;

  @TimeColumn({ nullable: true })
  listReadAt!: Date | null;
}

@Entity('development_devices')
export class DevelopmentDeviceEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  objectId!: string;

  @ManyToOne(() => InstallationEntity, { onDelete: 'CASCADE' })
  @JoinColumn(
    PUSH_COLUMNS.map((column) => ({ ...column, foreignKeyConstraintName: 'development_devices_installation_fkey' })),
  )
  installation!: InstallationEntity;
}

@Entity('vendor_senders')
export class VendorSenderEntity {
  @PrimaryColumn('text')
  instance!: string;

  @TimeColumn()
  seenAt!: Date;
}

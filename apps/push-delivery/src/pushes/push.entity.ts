import { Check, Column, Entity, Generated, Index, PrimaryColumn, Unique } from 'typeorm';
import type { JsonObject } from '#contracts';
import { TimeColumn } from '#database';
import type { NotificationCounts, NotificationStatus, PushTarget, StoredMessage } from './push.row.js';

@Entity('notifications')
@Unique('notifications_seq_key', ['seq'])
@Check(
  'notifications_status_check',
  "(status = ANY (ARRAY['scheduled'::text, 'in-queue'::text, 'done'::text, 'error'::text]))",
)
@Index('notifications_due_idx', ['dueAt', 'seq'], { where: "status = 'scheduled'::text" })
@Index('notifications_lane_idx', ['appId', 'seq'], { where: "status = 'in-queue'::text" })
@Index('notifications_newest_idx', ['appId', 'createdAt', 'objectId'])
@Index('notifications_over_idx', ['dueAt'], { where: "status = ANY (ARRAY['done'::text, 'error'::text])" })
@Index('notifications_untallied_idx', ['nextStatisticsAt'], { where: 'next_tally_at IS NOT NULL' })
@Index('notifications_waiting_idx', ['isBulk', 'dueAt', 'seq'], {
  where: "status = ANY (ARRAY['scheduled'::text, 'in-queue'::text])",
})
export class NotificationEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  objectId!: string;

  @Column('bigint')
  // The type of the decorator lacks the strategy that TypeORM knows.
  @Generated('identity' as 'increment')
  seq!: string;

  @Column('text', { nullable: true })
  notificationId!: string | null;

  @Column('text')
  status!: NotificationStatus;

  @Column('boolean')
  isBulk!: boolean;

  @Column('jsonb')
  target!: PushTarget;

  @Column('jsonb')
  data!: JsonObject;

  @Column('jsonb')
  message!: StoredMessage;

  @Column('text')
  prod!: 'dev' | 'prod';

  @Column('integer', { nullable: true })
  flowControl!: number | null;

  @TimeColumn()
  dueAt!: Date;

  @TimeColumn()
  expiresAt!: Date;

  @TimeColumn()
  createdAt!: Date;

  @TimeColumn()
  updatedAt!: Date;

  @Column('text', { nullable: true })
  leaseOwner!: string | null;

  @TimeColumn({ nullable: true })
  leaseUntil!: Date | null;

  @Column('integer', { default: 0 })
  failures!: number;

  @Column('smallint', { default: -1 })
  cursorPartition!: number;

  @Column('text', { default: '' })
  cursorObjectId!: string;

  @Column('jsonb', { default: {} })
  counts!: NotificationCounts;

  @TimeColumn({ name: 'next_tally_at', nullable: true })
  nextStatisticsAt!: Date | null;

  @Column('text', { nullable: true })
  error!: string | null;

  @Column('text', { nullable: true })
  requestId!: string | null;

  @Column('text', { nullable: true })
  traceparent!: string | null;
}

@Entity('lanes')
export class LaneEntity {
  @PrimaryColumn('text')
  appId!: string;

  @Column('text', { nullable: true })
  leaseOwner!: string | null;

  @TimeColumn({ nullable: true })
  leaseUntil!: Date | null;
}

@Entity('tallies')
@Index('tallies_kept_until_idx', ['keptUntil'])
export class DeliveryStatisticsEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  messageId!: string;

  @PrimaryColumn('text')
  platform!: string;

  @Column('integer', { default: 0 })
  enqueued!: number;

  @Column('integer', { default: 0 })
  acknowledged!: number;

  @Column('integer', { default: 0 })
  overflowed!: number;

  @TimeColumn()
  keptUntil!: Date;
}

/** The most devices of an application that were connected at once in a quarter of an hour; no row: none. */
@Entity('connected_counts')
@Index('connected_counts_at_idx', ['at'])
export class ConnectedCountEntity {
  /** Empty for the whole deployment, whose rows exist also without devices. */
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('timestamptz', { precision: 3 })
  at!: Date;

  @Column('integer')
  connected!: number;
}

@Entity('request_ids')
@Index('request_ids_created_at_idx', ['createdAt'])
export class RequestIdEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  reqId!: string;

  @Column('text')
  objectId!: string;

  @TimeColumn()
  createdAt!: Date;
}

@Entity('installations')
@Unique('installations_device_token_key', ['appId', 'deviceType', 'deviceToken'])
@Unique('installations_installation_id_key', ['appId', 'installationId'])
@Index('installations_fields_idx', { synchronize: false })
@Index('installations_newest_idx', ['appId', 'createdAt', 'objectId'])
@Index('installations_registration_idx', { synchronize: false })
@Index('installations_scan_idx', { synchronize: false })
@Index('installations_targets_idx', ['appId', 'partition', 'objectId'])
export class InstallationEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  objectId!: string;

  @Column('smallint')
  partition!: number;

  @Column('text', { nullable: true })
  installationId!: string | null;

  @Column('text', { nullable: true })
  deviceType!: string | null;

  @Column('text', { nullable: true })
  deviceToken!: string | null;

  @Column('boolean', { default: true })
  valid!: boolean;

  @Column('text', { nullable: true })
  invalidReason!: string | null;

  @Column('jsonb', { nullable: true })
  acl!: unknown;

  @Column('jsonb', { default: {} })
  fields!: unknown;

  @TimeColumn()
  createdAt!: Date;

  @TimeColumn()
  updatedAt!: Date;
}

/** A message in the queues of devices, stored once. */
@Entity('messages')
@Unique('messages_id_key', ['id'])
@Index('messages_expires_at_idx', ['expiresAt'])
export class MessageEntity {
  @PrimaryColumn('bigint')
  seq!: string;

  @Column('text')
  id!: string;

  @Column('text')
  appId!: string;

  @TimeColumn()
  expiresAt!: Date;

  @Column('jsonb')
  bodies!: unknown;

  @Column('text')
  body!: string;
}

@Entity('queued_messages')
@Index('queued_messages_seq_idx', ['seq'])
export class QueuedMessageEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  installationId!: string;

  @PrimaryColumn('bigint')
  seq!: string;

  @Column('text')
  platform!: string;
}

@Entity('dropped_messages')
@Index('dropped_messages_expires_at_idx', ['expiresAt'])
export class DroppedMessageEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  installationId!: string;

  @Column('integer')
  count!: number;

  @Column('bigint', { default: 0 })
  reportedUpTo!: string;

  @TimeColumn()
  expiresAt!: Date;
}

/** How far a push has been queued within one partition: a repeated batch adds nothing. */
@Entity('marks')
@Index('marks_kept_until_idx', ['keptUntil'])
export class MarkEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  messageId!: string;

  @PrimaryColumn('smallint')
  partition!: number;

  @Column('text')
  position!: string;

  @TimeColumn()
  keptUntil!: Date;
}

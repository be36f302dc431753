import { Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';

/** A message in the queues of devices, stored once. */
@Entity('messages')
@Unique('messages_id_key', ['id'])
@Index('messages_expires_at_idx', ['expiresAt'])
export class MessageEntity {
  @PrimaryColumn('bigint', { primaryKeyConstraintName: 'messages_pkey' })
  seq!: string;

  @Column('text')
  id!: string;

  @Column('text', { name: 'app_id' })
  appId!: string;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  expiresAt!: Date;

  @Column('jsonb')
  bodies!: unknown;

  @Column('text')
  body!: string;
}

@Entity('queued_messages')
@Index('queued_messages_seq_idx', ['seq'])
export class QueuedMessageEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'queued_messages_pkey' })
  appId!: string;

  @PrimaryColumn('text', { name: 'installation_id', primaryKeyConstraintName: 'queued_messages_pkey' })
  installationId!: string;

  @PrimaryColumn('bigint', { primaryKeyConstraintName: 'queued_messages_pkey' })
  seq!: string;

  @Column('text')
  platform!: string;
}

@Entity('dropped_messages')
@Index('dropped_messages_expires_at_idx', ['expiresAt'])
export class DroppedMessageEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'dropped_messages_pkey' })
  appId!: string;

  @PrimaryColumn('text', { name: 'installation_id', primaryKeyConstraintName: 'dropped_messages_pkey' })
  installationId!: string;

  @Column('integer')
  count!: number;

  @Column('bigint', { name: 'reported_up_to', default: 0 })
  reportedUpTo!: string;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  expiresAt!: Date;
}

/** How far a push has been queued within one partition: a repeated batch adds nothing. */
@Entity('marks')
@Index('marks_kept_until_idx', ['keptUntil'])
export class MarkEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'marks_pkey' })
  appId!: string;

  @PrimaryColumn('text', { name: 'message_id', primaryKeyConstraintName: 'marks_pkey' })
  messageId!: string;

  @PrimaryColumn('smallint', { primaryKeyConstraintName: 'marks_pkey' })
  partition!: number;

  @Column('text')
  position!: string;

  @Column({ type: 'timestamptz', name: 'kept_until', precision: 3 })
  keptUntil!: Date;
}

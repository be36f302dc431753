import { Check, Column, Entity, Generated, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

/** An event that its transaction has committed and the broker has not confirmed yet. */
@Entity('outbox')
export class OutboxEventEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'outbox_pkey',
  })
  id!: string;

  @Column('uuid', { name: 'message_id' })
  @Generated('uuid')
  messageId!: string;

  @Column('text')
  pattern!: string;

  @Column('jsonb')
  payload!: unknown;

  @Column('integer', { default: 0 })
  attempts!: number;

  @Column('timestamptz', { name: 'available_at', default: () => 'now()' })
  availableAt!: Date;

  @Column('text', { name: 'request_id', nullable: true })
  requestId!: string | null;

  @Column('text', { nullable: true })
  traceparent!: string | null;
}

/** The one process of a service that publishes its events, and until when. */
@Entity('outbox_lease')
@Check('outbox_lease_one_check', '(id = 1)')
export class OutboxLeaseEntity {
  @PrimaryColumn('smallint', { primaryKeyConstraintName: 'outbox_lease_pkey' })
  id!: number;

  @Column('uuid')
  holder!: string;

  @Column('timestamptz', { name: 'held_until' })
  heldUntil!: Date;
}

/** An event that the service has handled. */
@Entity('inbox')
@Index('inbox_received_at_idx', ['receivedAt'])
export class InboxMessageEntity {
  @PrimaryColumn('uuid', { name: 'message_id', primaryKeyConstraintName: 'inbox_pkey' })
  messageId!: string;

  @Column('timestamptz', { name: 'received_at', default: () => 'now()' })
  receivedAt!: Date;
}

/** The tables of a service that publishes events. */
export const OUTBOX_ENTITIES = [OutboxEventEntity, OutboxLeaseEntity];

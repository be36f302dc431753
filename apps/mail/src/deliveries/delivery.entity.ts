import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DeliveryAttempt } from '#contracts';
import { TimeColumn } from '#database';
import type { ChannelName, LoggedRow } from './delivery.rules.js';

@Entity('deliveries')
@Check('deliveries_channel_check', "(channel = ANY (ARRAY['mail'::text, 'sms'::text]))")
@Check('deliveries_last_error_check', '(length(last_error) <= 500)')
@Check(
  'deliveries_status_check',
  "(status = ANY (ARRAY['queued'::text, 'sent'::text, 'failed'::text, 'dead'::text, 'dropped'::text]))",
)
@Index('deliveries_application_idx', ['appId', 'createdAt', 'id'])
@Index('deliveries_created_at_idx', ['createdAt'])
@Index('deliveries_dead_idx', ['createdAt'], { where: "status = 'dead'::text" })
@Index('deliveries_dead_content_idx', ['expiresAt'], {
  where: "(status = 'dead'::text) AND (sealed_content IS NOT NULL)",
})
@Index('deliveries_expiring_idx', ['expiresAt'], {
  where: "status = ANY (ARRAY['queued'::text, 'failed'::text])",
})
@Index('deliveries_oldest_waiting_idx', ['channel', 'status', 'createdAt'], {
  where: "status = ANY (ARRAY['queued'::text, 'failed'::text])",
})
@Index('deliveries_owed_user_idx', ['appId', 'userId'], {
  where: "status = ANY (ARRAY['queued'::text, 'failed'::text, 'dead'::text])",
})
@Index('deliveries_recipient_idx', ['recipient', 'createdAt'])
@Index('deliveries_settled_at_idx', ['settledAt'], { where: 'settled_at IS NOT NULL' })
@Index('deliveries_waiting_idx', ['channel', 'appId', 'nextAttemptAt', 'createdAt'], {
  where: "status = ANY (ARRAY['queued'::text, 'failed'::text])",
})
export class DeliveryEntity {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('text')
  appId!: string;

  @Column('text')
  channel!: ChannelName;

  @Column('text')
  kind!: string;

  @Column('text')
  recipient!: string;

  @Column('text', { nullable: true })
  userId!: string | null;

  @TimeColumn({ nullable: true })
  asOf!: Date | null;

  @Column('text', { nullable: true })
  sealedContent!: string | null;

  @Column('text', { default: 'queued' })
  status!: LoggedRow['status'];

  @Column('integer', { default: 0 })
  attempts!: number;

  @Column('text', { nullable: true })
  lastError!: string | null;

  @Column('uuid', { nullable: true })
  lease!: string | null;

  @TimeColumn({ default: () => 'now()' })
  createdAt!: Date;

  @TimeColumn()
  expiresAt!: Date;

  @TimeColumn()
  giveUpAt!: Date;

  @TimeColumn({ default: () => 'now()' })
  nextAttemptAt!: Date;

  @TimeColumn({ nullable: true })
  settledAt!: Date | null;

  @Column('text', { nullable: true })
  traceparent!: string | null;

  @Column('jsonb', { default: [] })
  attemptLog!: readonly DeliveryAttempt[];
}

@Entity('allowances')
export class AllowanceEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn({
    type: 'timestamptz',
    precision: 3,
  })
  windowStart!: Date;

  @Column('bigint')
  used!: string;
}

/** The last known address of a user, by which mails to earlier addresses are dropped. */
@Entity('recipients')
export class RecipientEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  userId!: string;

  @Column('text', { nullable: true })
  email!: string | null;

  @TimeColumn()
  changedAt!: Date;

  @TimeColumn({ default: () => 'now()' })
  notedAt!: Date;
}

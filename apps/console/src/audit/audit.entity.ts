import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Undo } from '#console-api';
import { TimeColumn } from '#database';

/** A trigger refuses early deletions, and changes but that of an open outcome. */
@Entity('audit')
@Check('audit_way_check', `way IN ('console', 'cli')`)
@Check('audit_outcome_check', `outcome IN ('begun', 'done', 'refused', 'failed', 'unknown')`)
@Index('audit_begun_at_idx', ['begunAt', 'id'])
@Index('audit_operator_id_idx', ['operatorId', 'begunAt', 'id'])
@Index('audit_app_id_idx', ['appId', 'begunAt', 'id'])
@Index('audit_targets_idx', { synchronize: false })
@Index('audit_change_idx', { synchronize: false })
@Index('audit_open_idx', ['begunAt'], { where: `outcome = 'begun'` })
export class AuditEntity {
  @PrimaryColumn('uuid')
  id!: string;

  @TimeColumn({ default: () => 'now()' })
  begunAt!: Date;

  @TimeColumn({ nullable: true })
  endedAt!: Date | null;

  @Column('uuid', { nullable: true })
  operatorId!: string | null;

  @Column('text')
  operatorName!: string;

  @Column('text')
  way!: 'console' | 'cli';

  @Column('text', { nullable: true })
  network!: string | null;

  @Column('text', { nullable: true })
  appId!: string | null;

  @Column('text')
  action!: string;

  @Column('text', { nullable: true })
  target!: string | null;

  @Column('jsonb')
  change!: Record<string, unknown>;

  @Column('jsonb', { nullable: true })
  before!: Record<string, unknown> | null;

  @Column('jsonb', { nullable: true })
  undo!: Undo | null;

  @Column('text', { default: 'begun' })
  outcome!: 'begun' | 'done' | 'failed' | 'refused' | 'unknown';

  @Column('text', { nullable: true })
  errorName!: string | null;

  @Column('text')
  requestId!: string;
}

import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The failed logins of a user, and the lockout that follows from them. */
@Entity('lockouts')
@Index('lockouts_expires_at_idx', ['expiresAt'])
@Index('lockouts_locked_until_idx', ['appId', 'lockedUntil', 'userId'], { where: 'locked_until IS NOT NULL' })
export class LockoutEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'lockouts_pkey' })
  appId!: string;

  @PrimaryColumn({ type: 'text', name: 'user_id', collation: 'C', primaryKeyConstraintName: 'lockouts_pkey' })
  userId!: string;

  @Column('jsonb')
  attempts!: unknown;

  @Column({ type: 'timestamptz', name: 'locked_until', precision: 3, nullable: true })
  lockedUntil!: Date | null;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  expiresAt!: Date;
}

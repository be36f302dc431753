import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The newest address of a user that an event of accounts has reported. */
@Entity('recipients')
export class RecipientEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'recipients_pkey' })
  appId!: string;

  @PrimaryColumn('text', { name: 'user_id', primaryKeyConstraintName: 'recipients_pkey' })
  userId!: string;

  @Column('text', { nullable: true })
  email!: string | null;

  @Column({ type: 'timestamptz', name: 'changed_at', precision: 3 })
  changedAt!: Date;

  @Column({ type: 'timestamptz', name: 'noted_at', precision: 3, default: () => 'now()' })
  notedAt!: Date;
}

import { Injectable } from '@nestjs/common';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Tx } from '#database';
import type { RecipientRow } from './mail.rules.js';

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

export interface UserRef {
  readonly appId: string;
  readonly userId: string;
}

@Injectable()
export class RecipientsRepository {
  /** Serializes the transactions that handle events of one user, because concurrent ones do not see each other's rows. */
  async lock(tx: Tx, { appId, userId }: UserRef): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`mail.recipients ${appId} ${userId}`]);
  }

  async find(tx: Tx, { appId, userId }: UserRef): Promise<RecipientRow | undefined> {
    const recipients = tx.manager.getRepository(RecipientEntity);
    return (await recipients.findOneBy({ appId, userId })) ?? undefined;
  }

  async record(tx: Tx, { appId, userId }: UserRef, { email, changedAt }: RecipientRow): Promise<void> {
    await tx.query(
      `INSERT INTO mail.recipients AS known (app_id, user_id, email, changed_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT ON CONSTRAINT recipients_pkey DO UPDATE
          SET email = EXCLUDED.email, changed_at = EXCLUDED.changed_at, noted_at = now()
        WHERE known.changed_at < EXCLUDED.changed_at`,
      [appId, userId, email, changedAt],
    );
  }
}

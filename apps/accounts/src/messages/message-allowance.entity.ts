import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { ApplicationEntity } from '../applications/application.entity.js';

/** The times at which mails were requested for a mailbox. */
@Entity('mail_allowances')
@ForeignKey(() => ApplicationEntity, ['appId'], ['id'], { name: 'mail_allowances_app_id_fkey' })
@Index('mail_allowances_expires_at_idx', ['expiresAt'])
export class MailAllowanceEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'mail_allowances_pkey' })
  appId!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'mail_allowances_pkey' })
  mailbox!: string;

  @Column('timestamptz', { name: 'sent_at', array: true })
  sentAt!: Date[];

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  expiresAt!: Date;
}

/** The times at which text messages were requested for a number. */
@Entity('sms_allowances')
@ForeignKey(() => ApplicationEntity, ['appId'], ['id'], { name: 'sms_allowances_app_id_fkey' })
@Index('sms_allowances_expires_at_idx', ['expiresAt'])
export class SmsAllowanceEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'sms_allowances_pkey' })
  appId!: string;

  @PrimaryColumn('text', { name: 'mobile_phone_number', primaryKeyConstraintName: 'sms_allowances_pkey' })
  mobilePhoneNumber!: string;

  @Column('timestamptz', { name: 'sent_at', array: true })
  sentAt!: Date[];

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  expiresAt!: Date;
}

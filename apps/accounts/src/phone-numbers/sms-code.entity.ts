import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { ApplicationEntity } from '../applications/application.entity.js';

/** A code that was sent to a number and is not used yet. */
@Entity('sms_codes')
@ForeignKey(() => ApplicationEntity, ['appId'], ['id'], { name: 'sms_codes_app_id_fkey' })
@Index('sms_codes_expires_at_idx', ['expiresAt'])
@Index('sms_codes_numberless_guesses_idx', ['appId', 'purpose', 'numberlessGuessesBefore'], {
  where: 'numberless_hash IS NOT NULL',
})
@Index('sms_codes_numberless_hash_idx', ['appId', 'purpose', 'numberlessHash'], {
  where: 'numberless_hash IS NOT NULL',
})
export class SmsCodeEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'sms_codes_pkey' })
  appId!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'sms_codes_pkey' })
  purpose!: string;

  @PrimaryColumn('text', { name: 'mobile_phone_number', primaryKeyConstraintName: 'sms_codes_pkey' })
  mobilePhoneNumber!: string;

  @PrimaryColumn('text', { name: 'user_id', primaryKeyConstraintName: 'sms_codes_pkey' })
  userId!: string;

  @Column('bytea', { name: 'code_hash' })
  codeHash!: Buffer;

  @Column('smallint', { name: 'wrong_guesses', default: 0 })
  wrongGuesses!: number;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  expiresAt!: Date;

  @Column('bytea', { name: 'numberless_hash', nullable: true })
  numberlessHash!: Buffer | null;

  @Column('bigint', { name: 'numberless_guesses_before', nullable: true })
  numberlessGuessesBefore!: string | null;
}

/** Wrong guesses of codes in requests that name no number. */
@Entity('sms_numberless_guesses')
@ForeignKey(() => ApplicationEntity, ['appId'], ['id'], { name: 'sms_numberless_guesses_app_id_fkey' })
export class SmsNumberlessGuessEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'sms_numberless_guesses_pkey' })
  appId!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'sms_numberless_guesses_pkey' })
  purpose!: string;

  @Column('bigint', { default: 0 })
  wrong!: string;
}

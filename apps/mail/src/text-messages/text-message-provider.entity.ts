import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The webhook that delivers the text messages of an application. */
@Entity('text_message_providers')
export class TextMessageProviderEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'text_message_providers_pkey' })
  appId!: string;

  @Column('text')
  kind!: string;

  @Column('jsonb')
  shown!: unknown;

  @Column('text', { name: 'sealed_secrets' })
  sealedSecrets!: string;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3, default: () => 'now()' })
  updatedAt!: Date;
}

import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The provider that delivers the text messages of an application. */
@Entity('text_message_providers')
export class TextMessageProviderEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'text_message_providers_pkey' })
  appId!: string;

  @Column('text')
  kind!: string;

  /** The fields that are not secret. */
  @Column('jsonb')
  shown!: Readonly<Record<string, string>>;

  /** The sealed JSON of the secret fields. */
  @Column('text', { name: 'sealed_secrets' })
  sealedSecrets!: string;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3, default: () => 'now()' })
  updatedAt!: Date;
}

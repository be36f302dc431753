import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The credentials of an application on a third-party platform, sealed. */
@Entity('platform_credentials')
export class PlatformCredentialEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'platform_credentials_pkey' })
  appId!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'platform_credentials_pkey' })
  platform!: string;

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

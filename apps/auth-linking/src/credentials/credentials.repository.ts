import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, PrimaryColumn, type Repository } from 'typeorm';

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

export type CredentialsRow = Readonly<Omit<PlatformCredentialEntity, 'updatedAt'>>;

@Injectable()
export class CredentialsRepository {
  constructor(
    @InjectRepository(PlatformCredentialEntity, 'auth_linking')
    private readonly credentials: Repository<PlatformCredentialEntity>,
  ) {}

  list(appId: string): Promise<CredentialsRow[]> {
    return this.credentials.find({ where: { appId }, order: { platform: 'ASC' } });
  }

  async findAny(): Promise<CredentialsRow | undefined> {
    const [row] = await this.credentials.find({ take: 1 });
    return row;
  }

  /** Replaces the whole row. */
  async put(row: CredentialsRow): Promise<void> {
    await this.credentials.upsert({ ...row, updatedAt: () => 'now()' }, ['appId', 'platform']);
  }

  /** @returns whether a row was removed */
  async remove(appId: string, platform: string): Promise<boolean> {
    const { affected } = await this.credentials.delete({ appId, platform });
    return affected === 1;
  }
}

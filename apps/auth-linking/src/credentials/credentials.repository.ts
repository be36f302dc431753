import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, PrimaryColumn, type Repository } from 'typeorm';
import { SealedCredentialColumns } from '#database';

@Entity('platform_credentials')
export class PlatformCredentialEntity extends SealedCredentialColumns {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  platform!: string;

  @Column('text')
  kind!: string;
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

  async put(row: CredentialsRow): Promise<void> {
    await this.credentials.upsert({ ...row, updatedAt: () => 'now()' }, ['appId', 'platform']);
  }

  async remove(appId: string, platform: string): Promise<boolean> {
    const { affected } = await this.credentials.delete({ appId, platform });
    return affected === 1;
  }
}

import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { PlatformCredentialEntity } from './platform-credential.entity.js';

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

import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { VendorCredentialEntity } from './vendor.entity.js';

export type VendorCredentialsRow = Readonly<VendorCredentialEntity>;

type Key = Pick<VendorCredentialsRow, 'appId' | 'vendor' | 'profile' | 'part'>;

/** The stored credentials of applications for channels of vendors, sealed. */
@Injectable()
export class VendorCredentialsRepository {
  constructor(
    @InjectRepository(VendorCredentialEntity, 'push') private readonly credentials: Repository<VendorCredentialEntity>,
  ) {}

  list(appId: string): Promise<VendorCredentialsRow[]> {
    return this.credentials.find({ where: { appId }, order: { vendor: 'ASC', profile: 'ASC', part: 'ASC' } });
  }

  async findAny(): Promise<VendorCredentialsRow | undefined> {
    const [row] = await this.credentials.find({ take: 1 });
    return row;
  }

  /** Replaces the whole row. The clock of the database gives every change a version. */
  async put(row: Omit<VendorCredentialsRow, 'updatedAt'>): Promise<void> {
    const changed = { ...row, updatedAt: () => 'clock_timestamp()' };
    await this.credentials.upsert(changed, ['appId', 'vendor', 'profile', 'part']);
  }

  /** @returns whether a row was removed */
  async remove({ appId, vendor, profile, part }: Key): Promise<boolean> {
    const { affected } = await this.credentials.delete({ appId, vendor, profile, part });
    return affected === 1;
  }
}

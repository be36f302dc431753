import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import type { ShownVendor } from '#contracts';
import { PushDatabase } from '../push-delivery.database.js';
import { laneName } from './vendor-channel.rules.js';
import { VendorCredentialEntity } from './vendor.entity.js';

export type VendorCredentialsRow = Readonly<VendorCredentialEntity>;

type Key = Pick<ShownVendor, 'vendor' | 'profile' | 'part'>;
export type OwnedKey = Key & { readonly appId: string };

@Injectable()
export class VendorCredentialsRepository {
  constructor(
    @InjectRepository(VendorCredentialEntity, 'push') private readonly credentials: Repository<VendorCredentialEntity>,
    private readonly database: PushDatabase,
  ) {}

  list(appId: string): Promise<VendorCredentialsRow[]> {
    return this.credentials.find({ where: { appId }, order: { vendor: 'ASC', profile: 'ASC', part: 'ASC' } });
  }

  async findAny(): Promise<VendorCredentialsRow | undefined> {
    const [row] = await this.credentials.find({ take: 1 });
    return row;
  }

  /** Replaces the whole row. The database's clock gives every change a version; a pause stays. */
  async put(row: OwnedKey & Pick<VendorCredentialsRow, 'shown' | 'sealedSecrets'>): Promise<void> {
    const { appId, vendor, profile, part } = row;
    await this.database.query(
      PUT,
      [appId, vendor, profile, part, JSON.stringify(row.shown), row.sealedSecrets, lanesOf(row)],
      'vendorCredentials.put',
    );
  }

  async remove(key: OwnedKey): Promise<boolean> {
    const { appId, vendor, profile, part } = key;
    const rows = await this.database.query(
      `WITH lanes AS (DELETE FROM push.vendor_lanes WHERE app_id = $1 AND lane = ANY ($5))
       DELETE FROM push.vendor_credentials WHERE app_id = $1 AND vendor = $2 AND profile = $3 AND part = $4 RETURNING app_id`,
      [appId, vendor, profile, part, lanesOf(key)],
    );
    return rows.length === 1;
  }
}

export function lanesOf(key: Key): string[] {
  return (['dev', 'prod'] as const).map((prod) => laneName(key, prod));
}

const PUT = `
  WITH saved AS (
    INSERT INTO push.vendor_credentials (app_id, vendor, profile, part, shown, sealed_secrets, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp())
    ON CONFLICT ON CONSTRAINT vendor_credentials_pkey DO UPDATE
       SET shown = excluded.shown, sealed_secrets = excluded.sealed_secrets, updated_at = excluded.updated_at
    RETURNING updated_at
  )
  INSERT INTO push.vendor_lanes AS known (app_id, lane, credentials_at)
  SELECT $1, lane, saved.updated_at FROM saved, unnest($7::text[]) AS lane
  ON CONFLICT ON CONSTRAINT vendor_lanes_pkey DO UPDATE
     SET credentials_at = excluded.credentials_at, is_proven = false, trusted_until = NULL, doubted_at = NULL,
         counted_since = now(), answers = 0, good = 0, doubtful = 0`;

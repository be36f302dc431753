import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';
import { AuthLinkingDatabase } from '../auth-linking.database.js';

const COLUMNS = 'app_id AS "appId", platform, kind, shown, sealed_secrets AS "sealedSecrets"';

@Injectable()
export class CredentialsRepository {
  constructor(private readonly database: AuthLinkingDatabase) {}

  list(appId: string): Promise<CredentialsRow[]> {
    return this.database.query<CredentialsRow>(
      `SELECT ${COLUMNS} FROM auth_linking.platform_credentials WHERE app_id = $1 ORDER BY platform`,
      [appId],
    );
  }

  async findAny(): Promise<CredentialsRow | undefined> {
    const [row] = await this.database.query<CredentialsRow>(
      `SELECT ${COLUMNS} FROM auth_linking.platform_credentials LIMIT 1`,
    );
    return row;
  }

  /** Replaces the whole row. */
  async put(tx: Tx, { appId, platform, kind, shown, sealedSecrets }: CredentialsRow): Promise<void> {
    await tx.query(
      `INSERT INTO auth_linking.platform_credentials (app_id, platform, kind, shown, sealed_secrets)
       VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT ON CONSTRAINT platform_credentials_pkey DO UPDATE
          SET kind = EXCLUDED.kind, shown = EXCLUDED.shown, sealed_secrets = EXCLUDED.sealed_secrets, updated_at = now()`,
      [appId, platform, kind, JSON.stringify(shown), sealedSecrets],
    );
  }

  /** @returns whether a row was removed */
  async remove(tx: Tx, appId: string, platform: string): Promise<boolean> {
    const removed = await tx.query(
      'DELETE FROM auth_linking.platform_credentials WHERE app_id = $1 AND platform = $2 RETURNING platform',
      [appId, platform],
    );
    return removed.length > 0;
  }
}

export interface CredentialsRow {
  readonly appId: string;
  readonly platform: string;
  readonly kind: string;
  /** The fields that are not secret. */
  readonly shown: Readonly<Record<string, string>>;
  /** The sealed JSON of the secret fields. */
  readonly sealedSecrets: string;
}

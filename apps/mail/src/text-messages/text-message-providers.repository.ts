import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';
import { MailDatabase } from '../mail.database.js';

/** The text message provider of an application. */
export interface TextMessageProviderRow {
  readonly appId: string;
  readonly kind: string;
  /** The fields that are not secret. */
  readonly shown: Readonly<Record<string, string>>;
  /** The sealed JSON of the secret fields. */
  readonly sealedSecrets: string;
}

const COLUMNS = 'app_id AS "appId", kind, shown, sealed_secrets AS "sealedSecrets"';

@Injectable()
export class TextMessageProvidersRepository {
  constructor(private readonly database: MailDatabase) {}

  async find(appId: string): Promise<TextMessageProviderRow | undefined> {
    const [row] = await this.database.query<TextMessageProviderRow>(
      `SELECT ${COLUMNS} FROM mail.text_message_providers WHERE app_id = $1`,
      [appId],
    );
    return row;
  }

  async findAny(): Promise<TextMessageProviderRow | undefined> {
    const [row] = await this.database.query<TextMessageProviderRow>(
      `SELECT ${COLUMNS} FROM mail.text_message_providers LIMIT 1`,
    );
    return row;
  }

  /** Replaces the whole row. */
  async put(tx: Tx, { appId, kind, shown, sealedSecrets }: TextMessageProviderRow): Promise<void> {
    await tx.query(
      `INSERT INTO mail.text_message_providers (app_id, kind, shown, sealed_secrets) VALUES ($1, $2, $3, $4)
       ON CONFLICT ON CONSTRAINT text_message_providers_pkey DO UPDATE
          SET kind = EXCLUDED.kind, shown = EXCLUDED.shown, sealed_secrets = EXCLUDED.sealed_secrets, updated_at = now()`,
      [appId, kind, JSON.stringify(shown), sealedSecrets],
    );
  }

  /** @returns whether a row was removed */
  async remove(tx: Tx, appId: string): Promise<boolean> {
    const removed = await tx.query('DELETE FROM mail.text_message_providers WHERE app_id = $1 RETURNING app_id', [
      appId,
    ]);
    return removed.length > 0;
  }
}

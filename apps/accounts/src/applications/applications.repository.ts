import { Injectable } from '@nestjs/common';
import type { ApplicationSettings, ClassName, ClassOperation, ClassPermission } from '#contracts';
import { Database, type Queryable, type Tx } from '#database';
import type { KeyKind } from './application.rules.js';

/** A replaced key, as PostgreSQL's JSON represents it. */
export interface OldKeyRow {
  readonly kind: KeyKind;
  readonly sealedKey: string;
  readonly replacedAt: string;
  readonly acceptedUntil: string | null;
}

export interface ApplicationRow {
  readonly id: string;
  readonly name: string;
  readonly sealedAppKey: string;
  readonly sealedMasterKey: string;
  /** Those that are valid now, the oldest first. */
  readonly oldKeys: readonly OldKeyRow[];
  /** Only explicit values; defaults are not stored. */
  readonly settings: Partial<ApplicationSettings>;
  /** Only explicit values as well. */
  readonly classPermissions: Partial<Record<ClassName, Partial<Record<ClassOperation, ClassPermission>>>>;
  readonly createdAt: Date;
}

const COLUMNS = `id, name, sealed_app_key AS "sealedAppKey", sealed_master_key AS "sealedMasterKey", settings,
  class_permissions AS "classPermissions", created_at AS "createdAt",
  (SELECT COALESCE(jsonb_agg(jsonb_build_object(
            'kind', old.kind, 'sealedKey', old.sealed_key, 'replacedAt', old.replaced_at, 'acceptedUntil', old.accepted_until)
            ORDER BY old.replaced_at, old.id), '[]')
     FROM accounts.old_application_keys AS old
    WHERE old.app_id = applications.id AND (old.accepted_until IS NULL OR old.accepted_until > now())) AS "oldKeys"`;

@Injectable()
export class ApplicationsRepository {
  constructor(private readonly database: Database) {}

  async find(id: string, within: Queryable = this.database): Promise<ApplicationRow | undefined> {
    const sql = `SELECT ${COLUMNS} FROM accounts.applications WHERE id = $1`;
    return (await within.query<ApplicationRow>(sql, [id], 'applications.find'))[0];
  }

  async findAny(): Promise<ApplicationRow | undefined> {
    const [row] = await this.database.query<ApplicationRow>(`SELECT ${COLUMNS} FROM accounts.applications LIMIT 1`);
    return row;
  }

  list(): Promise<ApplicationRow[]> {
    return this.database.query<ApplicationRow>(`SELECT ${COLUMNS} FROM accounts.applications ORDER BY created_at, id`);
  }

  /** The newest come first. */
  async listIds(limit: number): Promise<string[]> {
    const sql = 'SELECT id FROM accounts.applications ORDER BY created_at DESC, id LIMIT $1';
    return (await this.database.query<{ id: string }>(sql, [limit])).map(({ id }) => id);
  }

  /** @returns undefined where the id is taken */
  async insert(
    tx: Tx,
    {
      id,
      name,
      sealedAppKey,
      sealedMasterKey,
    }: Pick<ApplicationRow, 'id' | 'name' | 'sealedAppKey' | 'sealedMasterKey'>,
  ): Promise<ApplicationRow | undefined> {
    const [row] = await tx.query<ApplicationRow>(
      `INSERT INTO accounts.applications (id, name, sealed_app_key, sealed_master_key) VALUES ($1, $2, $3, $4)
       ON CONFLICT ON CONSTRAINT applications_pkey DO NOTHING RETURNING ${COLUMNS}`,
      [id, name, sealedAppKey, sealedMasterKey],
    );
    return row;
  }

  /** Waits for concurrent creation of applications. @returns whether the table is empty */
  async lockAndCheckEmpty(tx: Tx): Promise<boolean> {
    await tx.query('LOCK TABLE accounts.applications IN SHARE ROW EXCLUSIVE MODE');
    const rows = await tx.query('SELECT 1 FROM accounts.applications LIMIT 1');
    return rows.length === 0;
  }

  async changeSettings(tx: Tx, id: string, changes: Partial<ApplicationSettings>): Promise<ApplicationRow | undefined> {
    const [row] = await tx.query<ApplicationRow>(
      `UPDATE accounts.applications SET settings = settings || $2 WHERE id = $1 RETURNING ${COLUMNS}`,
      [id, JSON.stringify(changes)],
    );
    return row;
  }

  async changePermission(
    tx: Tx,
    id: string,
    className: ClassName,
    changes: Partial<Record<ClassOperation, ClassPermission>>,
  ): Promise<ApplicationRow | undefined> {
    const [row] = await tx.query<ApplicationRow>(
      `UPDATE accounts.applications
          SET class_permissions =
                class_permissions || jsonb_build_object($2::text, COALESCE(class_permissions -> $2, '{}') || $3::jsonb)
        WHERE id = $1 RETURNING ${COLUMNS}`,
      [id, className, JSON.stringify(changes)],
    );
    return row;
  }

  /**
   * Stores the application's current keys of these kinds as old keys, before they are replaced. Concurrent rotations wait for the
   * row lock.
   * @param seconds how long they stay valid; null: until they are revoked
   */
  async keepKeys(tx: Tx, id: string, kinds: readonly KeyKind[], seconds: number | null): Promise<void> {
    await tx.query(
      `INSERT INTO accounts.old_application_keys (app_id, kind, sealed_key, accepted_until)
       SELECT app.id, kept.kind, CASE kept.kind WHEN 'app' THEN app.sealed_app_key ELSE app.sealed_master_key END,
              now() + make_interval(secs => $3)
         FROM accounts.applications AS app CROSS JOIN unnest($2::text[]) AS kept (kind)
        WHERE app.id = $1 FOR UPDATE OF app`,
      [id, kinds, seconds],
    );
  }

  async removeOldKeys(tx: Tx, id: string, kinds: readonly KeyKind[]): Promise<void> {
    await tx.query('DELETE FROM accounts.old_application_keys WHERE app_id = $1 AND kind = ANY ($2)', [id, kinds]);
  }

  async removeExpiredKeys(tx: Tx, id: string): Promise<void> {
    await tx.query('DELETE FROM accounts.old_application_keys WHERE app_id = $1 AND accepted_until <= now()', [id]);
  }

  /** Replaces the keys that are not null. */
  async replaceKeys(
    tx: Tx,
    id: string,
    sealedAppKey: string | null,
    sealedMasterKey: string | null,
  ): Promise<ApplicationRow | undefined> {
    const [row] = await tx.query<ApplicationRow>(
      `UPDATE accounts.applications
          SET sealed_app_key = COALESCE($2, sealed_app_key), sealed_master_key = COALESCE($3, sealed_master_key)
        WHERE id = $1 RETURNING ${COLUMNS}`,
      [id, sealedAppKey, sealedMasterKey],
    );
    return row;
  }
}

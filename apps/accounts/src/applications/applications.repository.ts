import { Injectable } from '@nestjs/common';
import type { ApplicationSettings, ClassName, ClassOperation, ClassPermission } from '#contracts';
import { Database, type Queryable, type Tx } from '#database';

export interface ApplicationRow {
  readonly id: string;
  readonly name: string;
  readonly sealedAppKey: string;
  readonly sealedMasterKey: string;
  /** Only what was set; the defaults are not stored. */
  readonly settings: Partial<ApplicationSettings>;
  /** Only what was set, as well. */
  readonly classPermissions: Partial<Record<ClassName, Partial<Record<ClassOperation, ClassPermission>>>>;
  readonly createdAt: Date;
}

const COLUMNS = `id, name, sealed_app_key AS "sealedAppKey", sealed_master_key AS "sealedMasterKey", settings,
  class_permissions AS "classPermissions", created_at AS "createdAt"`;

@Injectable()
export class ApplicationsRepository {
  constructor(private readonly database: Database) {}

  async find(id: string, within: Queryable = this.database): Promise<ApplicationRow | undefined> {
    const [row] = await within.query<ApplicationRow>(`SELECT ${COLUMNS} FROM accounts.applications WHERE id = $1`, [
      id,
    ]);
    return row;
  }

  async findAny(): Promise<ApplicationRow | undefined> {
    const [row] = await this.database.query<ApplicationRow>(`SELECT ${COLUMNS} FROM accounts.applications LIMIT 1`);
    return row;
  }

  list(): Promise<ApplicationRow[]> {
    return this.database.query<ApplicationRow>(`SELECT ${COLUMNS} FROM accounts.applications ORDER BY created_at, id`);
  }

  /** @returns undefined where the id is taken */
  async insert(
    tx: Tx,
    { id, name, sealedAppKey, sealedMasterKey }: Omit<ApplicationRow, 'settings' | 'classPermissions' | 'createdAt'>,
  ): Promise<ApplicationRow | undefined> {
    const [row] = await tx.query<ApplicationRow>(
      `INSERT INTO accounts.applications (id, name, sealed_app_key, sealed_master_key) VALUES ($1, $2, $3, $4)
       ON CONFLICT ON CONSTRAINT applications_pkey DO NOTHING RETURNING ${COLUMNS}`,
      [id, name, sealedAppKey, sealedMasterKey],
    );
    return row;
  }

  /** Waits for other creators of applications, and tells whether there is one. */
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

  /** Replaces the keys that are given. */
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

import { Injectable } from '@nestjs/common';
import {
  CHANGED_SINCE,
  type consoleApi,
  type Grant,
  MAX_SAVED_VIEWS,
  MAX_TEST_DEVICES,
  type RouteParams,
  type RouteReply,
  type SavedView,
} from '#console-api';
import { type Queryable, violatedUniqueConstraint } from '#database';
import { appError } from '#errors';
import { ConsoleDatabase } from '../console.database.js';
import { type OperatorRow, type Rights, sortedGrants } from './operator.rules.js';
import { type FactorOwner, HAS_FACTOR, lockOwner } from './second-factors.repository.js';

export const OPERATOR_COLUMNS = `
  o.id, o.name, o.address, o.is_owner AS "isOwner", o.is_disabled AS "isDisabled",
  o.password_hash IS NOT NULL AS "hasPassword", o.oidc_subject IS NOT NULL AS "isConnected", ${HAS_FACTOR('o.id')} AS "hasSecondFactor", o.language, o.time_zone AS "timeZone", o.theme,
  o.created_at AS "createdAt", o.last_seen_at AS "lastSeenAt",
  COALESCE((SELECT jsonb_agg(jsonb_build_object('appId', g.app_id, 'role', g.role) ORDER BY g.app_id)
              FROM console.grants g WHERE g.operator_id = o.id), '[]') AS grants`;

/** SQL: the SHA-256 of each credential that can begin a session: the hash of the password, or the account of the issuer. */
export const CREDENTIAL_TAGS = {
  password: `sha256(convert_to(o.password_hash, 'UTF8'))`,
  issuer: `sha256(convert_to(o.oidc_issuer || ' ' || o.oidc_subject, 'UTF8'))`,
};

export const IS_ACTIVE = 'NOT is_disabled AND (password_hash IS NOT NULL OR oidc_subject IS NOT NULL)';

export type OperatorKey = { readonly id: string } | { readonly address: string };

interface NewOperator {
  readonly name: string;
  readonly address: string;
  readonly isOwner: boolean;
  readonly grants: readonly Grant[];
}

interface Preferences {
  readonly name?: string | undefined;
  readonly language?: string | null | undefined;
  readonly timeZone?: string | null | undefined;
  readonly theme?: string | undefined;
}

type ShownView = RouteReply<typeof consoleApi.listViews>['items'][number];
type ViewKey = RouteParams<typeof consoleApi.deleteView>;

@Injectable()
export class OperatorsRepository {
  constructor(private readonly database: ConsoleDatabase) {}

  list(): Promise<OperatorRow[]> {
    return this.database.query(`SELECT ${OPERATOR_COLUMNS} FROM console.operators o ORDER BY o.address LIMIT 10000`);
  }

  async get(key: OperatorKey): Promise<OperatorRow> {
    const [where, value] = 'id' in key ? ['o.id = $1', key.id] : ['o.address = $1', addressKey(key.address)];
    const [row] = await this.database.query<OperatorRow>(
      `SELECT ${OPERATOR_COLUMNS} FROM console.operators o WHERE ${where}`,
      [value],
    );
    if (row === undefined) throw appError('NOT_FOUND', { message: 'There is no such operator.' });
    return row;
  }

  async hasOwner(): Promise<boolean> {
    const rows = await this.database.query('SELECT 1 FROM console.operators WHERE is_owner LIMIT 1');
    return rows.length > 0;
  }

  /** The columns that a sign-in compares; undefined if no active operator has the address. */
  async credentials(
    address: string,
  ): Promise<{ id: string; passwordHash: string; hasSecondFactor: boolean } | undefined> {
    const [row] = await this.database.query<{ id: string; passwordHash: string; hasSecondFactor: boolean }>(
      `SELECT o.id, o.password_hash AS "passwordHash", ${HAS_FACTOR('o.id')} AS "hasSecondFactor"
         FROM console.operators o WHERE o.address = $1 AND o.password_hash IS NOT NULL AND NOT o.is_disabled`,
      [addressKey(address)],
    );
    return row;
  }

  /** Replaces the hash of an unchanged password; sessions go on. @returns false if the stored hash is no longer the compared one */
  async rehash(id: string, { before, after }: { readonly before: string; readonly after: string }): Promise<boolean> {
    const rows = await this.database.query(
      `WITH changed AS (UPDATE console.operators SET password_hash = $3 WHERE id = $1 AND password_hash = $2 RETURNING id),
       kept AS (
         UPDATE console.sessions SET password_tag = sha256(convert_to($3, 'UTF8'))
          WHERE operator_id IN (SELECT id FROM changed) AND password_tag = sha256(convert_to($2, 'UTF8')))
       SELECT id FROM changed`,
      [id, before, after],
    );
    return rows.length > 0;
  }

  async nameAt(address: string): Promise<string | undefined> {
    const [row] = await this.database.query<{ name: string }>('SELECT name FROM console.operators WHERE address = $1', [
      addressKey(address),
    ]);
    return row?.name;
  }

  async invite({ name, address, isOwner, grants }: NewOperator): Promise<string> {
    try {
      return await this.database.transaction(async (tx) => {
        const [row] = await tx.query<{ id: string }>(
          'INSERT INTO console.operators (name, address, is_owner) VALUES ($1, $2, $3) RETURNING id',
          [name, addressKey(address), isOwner],
        );
        const id = row?.id ?? '';
        await replaceGrants(tx, id, grants);
        return id;
      });
    } catch (error) {
      if (violatedUniqueConstraint(error) !== 'operators_address_key') throw error;
      throw appError('EMAIL_TAKEN', { message: 'Another operator has this address.' });
    }
  }

  /** @throws AppError NOT_FOUND, or NO_EFFECT if the stored rights are not `former`, and for the last active owner */
  async setRights(id: string, { isOwner, grants }: Rights, former: Rights): Promise<void> {
    await this.database.transaction(async (tx) => {
      if (!isOwner) await assertOwnerStays(tx, id);
      const [stored] = await tx.query<{ isOwner: boolean }>(
        'SELECT is_owner AS "isOwner" FROM console.operators WHERE id = $1 FOR NO KEY UPDATE',
        [id],
      );
      if (stored === undefined) throw appError('NOT_FOUND', { message: 'There is no such operator.' });
      const storedGrants = await tx.query<Grant>(
        'SELECT app_id AS "appId", role FROM console.grants WHERE operator_id = $1',
        [id],
      );
      const isSame = JSON.stringify(sortedGrants(storedGrants)) === JSON.stringify(sortedGrants(former.grants));
      if (stored.isOwner !== former.isOwner || !isSame) throw appError('NO_EFFECT', { message: CHANGED_SINCE });
      await tx.query('UPDATE console.operators SET is_owner = $2 WHERE id = $1', [id, isOwner]);
      await replaceGrants(tx, id, grants);
    });
  }

  /** @throws AppError NOT_FOUND, or NO_EFFECT for the last active owner */
  async setDisabled(id: string, isDisabled: boolean): Promise<void> {
    await this.database.transaction(async (tx) => {
      if (isDisabled) await assertOwnerStays(tx, id);
      const rows = await tx.query('UPDATE console.operators SET is_disabled = $2 WHERE id = $1 RETURNING 1', [
        id,
        isDisabled,
      ]);
      if (rows.length === 0) throw appError('NOT_FOUND', { message: 'There is no such operator.' });
      if (!isDisabled) return;
      await tx.query('DELETE FROM console.sessions WHERE operator_id = $1', [id]);
      await tx.query('DELETE FROM console.links WHERE operator_id = $1', [id]);
    });
  }

  async setPreferences(id: string, preferences: Preferences): Promise<void> {
    const { name, language, timeZone, theme } = preferences;
    await this.database.query(
      `UPDATE console.operators
          SET name = COALESCE($2, name), theme = COALESCE($3, theme),
              language = CASE WHEN $4 THEN $5 ELSE language END,
              time_zone = CASE WHEN $6 THEN $7 ELSE time_zone END
        WHERE id = $1`,
      [id, name, theme, language !== undefined, language ?? null, timeZone !== undefined, timeZone ?? null],
    );
  }

  /** Object ids of the installations that the operator has marked. */
  async testDevices(operatorId: string, appId: string): Promise<string[]> {
    const rows = await this.database.query<{ deviceId: string }>(
      `SELECT device_id AS "deviceId" FROM console.test_devices WHERE operator_id = $1 AND app_id = $2
        ORDER BY marked_at, device_id`,
      [operatorId, appId],
    );
    return rows.map(({ deviceId }) => deviceId);
  }

  /** @param missing marked devices that do not exist any more: their marks go @throws AppError UNAUTHORIZED, or NO_EFFECT beyond `MAX_TEST_DEVICES` */
  async markTestDevice(
    operator: FactorOwner,
    { appId, deviceId }: { readonly appId: string; readonly deviceId: string },
    missing: readonly string[],
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      await lockOwner(tx, operator);
      await tx.query(
        'DELETE FROM console.test_devices WHERE operator_id = $1 AND app_id = $2 AND device_id = ANY($3)',
        [operator.id, appId, missing],
      );
      const rows = await tx.query(
        `INSERT INTO console.test_devices AS t (operator_id, app_id, device_id) SELECT $1, $2, $3
          WHERE (SELECT count(*) FROM console.test_devices
                  WHERE operator_id = $1 AND app_id = $2 AND device_id <> $3) < ${MAX_TEST_DEVICES}
         ON CONFLICT ON CONSTRAINT test_devices_pkey DO UPDATE SET marked_at = t.marked_at RETURNING 1`,
        [operator.id, appId, deviceId],
      );
      if (rows.length === 0)
        throw appError('NO_EFFECT', {
          message: `You have ${MAX_TEST_DEVICES} test devices in this application. Remove one first.`,
        });
    });
  }

  async unmarkTestDevice(operatorId: string, appId: string, deviceId: string): Promise<void> {
    await this.database.query(
      'DELETE FROM console.test_devices WHERE operator_id = $1 AND app_id = $2 AND device_id = $3',
      [operatorId, appId, deviceId],
    );
  }

  views(operatorId: string, appId: string): Promise<ShownView[]> {
    return this.database.query(
      `SELECT id, page, name, search, is_shared AS "isShared", operator_id = $1 AS "isOwn" FROM console.saved_views
        WHERE app_id = $2 AND (operator_id = $1 OR is_shared) ORDER BY operator_id <> $1, lower(name), id LIMIT 1000`,
      [operatorId, appId],
    );
  }

  /** @throws AppError UNAUTHORIZED, or NO_EFFECT beyond `MAX_SAVED_VIEWS` */
  async saveView(operator: FactorOwner, appId: string, { page, name, search, isShared }: SavedView): Promise<void> {
    await this.database.transaction(async (tx) => {
      await lockOwner(tx, operator);
      const rows = await tx.query(
        `INSERT INTO console.saved_views (operator_id, app_id, page, name, search, is_shared) SELECT $1, $2, $3, $4, $5, $6
          WHERE (SELECT count(*) FROM console.saved_views
                  WHERE operator_id = $1 AND (app_id, page, name) <> ($2, $3, $4)) < ${MAX_SAVED_VIEWS}
         ON CONFLICT ON CONSTRAINT saved_views_name_key
         DO UPDATE SET search = excluded.search, is_shared = excluded.is_shared RETURNING 1`,
        [operator.id, appId, page, name, JSON.stringify(search), isShared],
      );
      if (rows.length === 0)
        throw appError('NO_EFFECT', {
          message: `You have ${MAX_SAVED_VIEWS} saved views. Delete one first.`,
        });
    });
  }

  /** @param anyShared also a view that another operator shares @throws AppError NOT_FOUND */
  async deleteView(operatorId: string, { appId, viewId }: ViewKey, anyShared: boolean): Promise<void> {
    const rows = await this.database.query(
      `DELETE FROM console.saved_views
        WHERE id = $1 AND app_id = $2 AND (operator_id = $3 OR (is_shared AND $4)) RETURNING 1`,
      [viewId, appId, operatorId, anyShared],
    );
    if (rows.length === 0) throw appError('NOT_FOUND', { message: 'There is no such view that you may delete.' });
  }
}

/** Locks all owners: concurrent changes wait, so that one active owner remains. @throws AppError NO_EFFECT for the last one */
async function assertOwnerStays(tx: Queryable, id: string): Promise<void> {
  const owners = await tx.query<{ id: string; isActive: boolean }>(
    `SELECT id, ${IS_ACTIVE} AS "isActive" FROM console.operators WHERE is_owner ORDER BY id FOR NO KEY UPDATE`,
  );
  const active = owners.filter(({ isActive }) => isActive);
  if (active.length === 1 && active[0]?.id === id)
    throw appError('NO_EFFECT', { message: 'The last active owner stays.' });
}

/** The caller has locked the operator's row. */
export async function replaceGrants(tx: Queryable, id: string, grants: readonly Grant[]): Promise<void> {
  await tx.query('DELETE FROM console.grants WHERE operator_id = $1', [id]);
  if (grants.length === 0) return;
  await tx.query(
    `INSERT INTO console.grants (operator_id, app_id, role) SELECT $1, * FROM unnest($2::text[], $3::text[])`,
    [id, grants.map(({ appId }) => appId), grants.map(({ role }) => role)],
  );
}

/** Addresses are compared without regard to case. */
export function addressKey(address: string): string {
  return address.trim().toLowerCase();
}

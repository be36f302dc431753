import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type Queryable, registerPoolMetrics, selectList, type Tx, violatedUniqueConstraint } from '#database';
import { appError } from '#errors';
import type { CompiledCount, CompiledFind } from '#objects';
import { countRows, listBounded, QueryDatabase } from '#objects/store';
import { Metrics } from '#observability';
import { partitionOf } from '../device-queues/device-queues.js';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from '../push-delivery.config.js';
import { pushDatabase, PushDatabase } from '../push-delivery.database.js';
import { InstallationEntity } from './installation.entity.js';
import type { InstallationIdentity, InstallationRow } from './installation.row.js';

/** Connections for queries of clients, separate from those of registrations and pushes. */
@Injectable()
export class PushQueryDatabase extends QueryDatabase implements OnApplicationShutdown {
  constructor(@Inject(PUSH_DELIVERY_CONFIG) { databaseUrl, databasePool }: PushDeliveryConfig, metrics: Metrics) {
    super({
      ...pushDatabase(databaseUrl, Math.ceil(databasePool / 2)),
      applicationName: 'gatepost-push-queries',
    });
    registerPoolMetrics(this, 'push-queries', metrics);
    registerPoolMetrics(this.indexed, 'push-indexed-queries', metrics);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}

const COLUMNS = selectList(InstallationEntity, { except: ['appId', 'partition'] });

/** Every statement is restricted to one application. */
@Injectable()
export class InstallationsRepository {
  constructor(private readonly database: PushDatabase) {}

  async find(appId: string, objectId: string): Promise<InstallationRow | undefined> {
    const sql = `SELECT ${COLUMNS} FROM push.installations WHERE app_id = $1 AND object_id = $2`;
    return (await this.database.query<InstallationRow>(sql, [appId, objectId], 'installations.find'))[0];
  }

  list(within: Queryable, query: CompiledFind): Promise<InstallationRow[]> {
    return listBounded<InstallationRow>(within, { table: 'push.installations', columns: COLUMNS }, query);
  }

  count(within: Queryable, query: CompiledCount): Promise<number> {
    return countRows(within, query);
  }

  /**
   * Locks identities, including those of installations that do not exist yet, until the transaction ends. One statement takes all
   * locks of a transaction in one order, including the identities that its installations have now. Transactions therefore cannot
   * deadlock on these locks, or later on rows.
   */
  async lockIdentities(tx: Tx, appId: string, identities: readonly InstallationIdentity[]): Promise<void> {
    const present = await this.presentIdentities(tx, appId, identities);
    const names = new Set([...identities, ...present].flatMap(namesOf));
    await tx.query(
      'SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM unnest($1::text[]) AS name',
      [[...names].sort().map((name) => `push.installations ${appId} ${name}`)],
      'installations.lockIdentities',
    );
  }

  /** Locks the installations that have one of the ids, or both the type and the token, until the transaction ends. */
  lockMatching(tx: Tx, appId: string, identity: InstallationIdentity): Promise<InstallationRow[]> {
    const { objectId, installationId, deviceType, deviceToken } = identity;
    return tx.query<InstallationRow>(
      `SELECT ${COLUMNS} FROM push.installations
        WHERE app_id = $1 AND (object_id = $2 OR installation_id = $3 OR (device_type = $4 AND device_token = $5))
        ORDER BY object_id FOR UPDATE`,
      [appId, objectId ?? null, installationId ?? null, deviceType ?? null, deviceToken ?? null],
    );
  }

  /** @throws AppError SERVICE_UNAVAILABLE if a concurrent transaction has taken an identity */
  async insert(tx: Tx, appId: string, installation: InstallationRow): Promise<void> {
    await mapUniqueViolation(
      tx.query(
        `INSERT INTO push.installations
           (app_id, object_id, partition, installation_id, device_type, device_token, valid, acl, fields, updated_at, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
        [...valuesOf(appId, installation), installation.createdAt],
      ),
    );
  }

  /** @throws AppError SERVICE_UNAVAILABLE if a concurrent transaction has taken an identity */
  async update(tx: Tx, appId: string, installation: InstallationRow): Promise<void> {
    await mapUniqueViolation(
      tx.query(
        `UPDATE push.installations
            SET partition = $3, installation_id = $4, device_type = $5, device_token = $6, valid = $7, acl = $8, fields = $9,
                updated_at = $10
          WHERE app_id = $1 AND object_id = $2`,
        valuesOf(appId, installation),
      ),
    );
  }

  async remove(tx: Tx, appId: string, objectIds: readonly string[]): Promise<void> {
    await tx.query('DELETE FROM push.installations WHERE app_id = $1 AND object_id = ANY ($2)', [appId, objectIds]);
  }

  private presentIdentities(
    tx: Tx,
    appId: string,
    identities: readonly InstallationIdentity[],
  ): Promise<InstallationIdentity[]> {
    const objectIds = identities.flatMap(({ objectId }) => objectId ?? []);
    const installationIds = identities.flatMap(({ installationId }) => installationId ?? []);
    return tx.query<InstallationIdentity>(
      `SELECT object_id AS "objectId", installation_id AS "installationId", device_token AS "deviceToken"
         FROM push.installations WHERE app_id = $1 AND (object_id = ANY ($2) OR installation_id = ANY ($3))`,
      [appId, objectIds, installationIds],
      'installations.presentIdentities',
    );
  }
}

function namesOf({ objectId, installationId, deviceToken }: InstallationIdentity): string[] {
  return [
    ...(objectId === undefined ? [] : [`object ${objectId}`]),
    ...(typeof installationId !== 'string' ? [] : [`installation ${installationId}`]),
    ...(typeof deviceToken !== 'string' ? [] : [`token ${deviceToken}`]),
  ];
}

function valuesOf(appId: string, row: InstallationRow): unknown[] {
  return [
    appId,
    row.objectId,
    // A device without an id has no queue, so its partition only decides its place in the scan.
    partitionOf({ appId, installationId: row.installationId ?? row.objectId }),
    row.installationId,
    row.deviceType,
    row.deviceToken,
    row.valid,
    row.acl === null ? null : JSON.stringify(row.acl),
    JSON.stringify(row.fields),
    row.updatedAt,
  ];
}

/**
 * Identities are locked before they are read, so a conflict is only possible with an identity that the stored row adds. A retry
 * reads that identity.
 */
async function mapUniqueViolation(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (violatedUniqueConstraint(error) === undefined) throw error;
    throw appError('SERVICE_UNAVAILABLE', { cause: error });
  }
}

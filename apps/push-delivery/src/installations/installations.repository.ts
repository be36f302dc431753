import { Injectable } from '@nestjs/common';
import { CLASS_NAMES } from '#contracts';
import { type Queryable, type Tx, UNESTIMATED_APP } from '#database';
import { type AppError, appError } from '#errors';
import {
  compileCount,
  type ImportClaim,
  installationClass,
  type InstallationRow,
  parseWhere,
  type QueryClass,
  type QueryScope,
} from '#objects';
import { ObjectRepository, QueryDatabase } from '#objects/store';
import { partitionOf } from '../device-queues/device-queues.js';
import { PushDatabase } from '../push-delivery.database.js';
import { InstallationEntity } from '../pushes/push.entity.js';
import type { PushTarget } from '../pushes/push.row.js';
import type { InstallationIdentity } from './installation.rules.js';

const TOKEN_FIELD = 'deviceToken';
const STORAGE = { objectClass: installationClass, entity: InstallationEntity, internal: ['invalidReason'] };

type StoredInstallation = Partial<Pick<InstallationEntity, 'partition' | 'invalidReason'>>;

@Injectable()
export class InstallationsRepository extends ObjectRepository<InstallationRow> {
  constructor(database: PushDatabase, queries: QueryDatabase) {
    super(STORAGE, database, queries);
  }

  /**
   * Locks identities until the transaction ends, including those without an installation. One statement takes all locks in one order,
   * including the identities that the installations have now, so transactions cannot deadlock here or on rows.
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

  /** Finds by one of the ids, or by both type and token; locks until the transaction ends. */
  async lockMatching(tx: Tx, appId: string, identity: InstallationIdentity): Promise<InstallationRow[]> {
    const { objectId, installationId, deviceType, deviceToken } = identity;
    const rows = await tx.query<object>(
      `SELECT ${this.statements.columns} FROM push.installations
        WHERE app_id = $1 AND (object_id = $2 OR installation_id = $3 OR (device_type = $4 AND device_token = $5))
        ORDER BY object_id FOR UPDATE`,
      [appId, objectId ?? null, installationId ?? null, deviceType ?? null, deviceToken ?? null],
    );
    return rows.map((row) => this.toRow(row));
  }

  /** The owner of a device token is found by type and token. */
  override async ownersOf(
    within: Queryable,
    appId: string,
    claims: readonly ImportClaim[],
  ): Promise<[string, string][]> {
    const tokens = claims.flatMap(({ field, key }) => (field === TOKEN_FIELD ? [key.slice(field.length + 1)] : []));
    const rows = await within.query<{ token: string; objectId: string }>(
      `SELECT wanted.token, owner."objectId" FROM unnest($2::text[]) AS wanted (token) CROSS JOIN LATERAL (
         SELECT object_id AS "objectId" FROM push.installations
          WHERE app_id = ${UNESTIMATED_APP} AND device_type = split_part(wanted.token, ' ', 1) AND device_token = split_part(wanted.token, ' ', 2)
          LIMIT 1) AS owner`,
      [appId, tokens],
    );
    const others = claims.filter(({ field }) => field !== TOKEN_FIELD);
    return [
      ...(await super.ownersOf(within, appId, others)),
      ...rows.map(({ token, objectId }): [string, string] => [`${TOKEN_FIELD} ${token}`, objectId]),
    ];
  }

  protected override toColumns(
    appId: string,
    row: InstallationRow,
  ): Readonly<Record<keyof InstallationEntity, unknown>> {
    // A device without an id has no queue, so its partition only decides its place in the scan.
    const partition = partitionOf({ appId, installationId: row.installationId ?? row.objectId });
    return { invalidReason: null, ...row, appId, partition };
  }

  protected override toRow({ partition: _, invalidReason, ...row }: StoredInstallation): InstallationRow {
    return { ...row, ...(typeof invalidReason === 'string' ? { invalidReason } : {}) } as InstallationRow;
  }

  /** Identities are locked before they are read, so only an identity that the stored row adds can conflict: a retry locks it. */
  protected override uniqueViolation(): AppError {
    return appError('SERVICE_UNAVAILABLE');
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

export const INSTALLATION_QUERY_CLASS = installationClass.queryClass();

/** Rule of the API. */
export const IS_TARGET = `valid AND updated_at > now() - interval '90 days'`;

/** Regardless of ACLs. */
export function pushScope(appId: string): QueryScope {
  return { appId, grantees: 'master', classOf };
}

/** The request is refused at once, not later by the dispatcher. @throws AppError as `parseWhere` */
export function assertFindable(appId: string, { where }: PushTarget): void {
  compileCount(parseWhere([...where]), INSTALLATION_QUERY_CLASS, pushScope(appId));
}

/** @throws AppError NOT_FOUND for an unknown class, INVALID_QUERY for one of another service */
function classOf(className: string): QueryClass {
  if (className === INSTALLATION_QUERY_CLASS.className) return INSTALLATION_QUERY_CLASS;
  if (!CLASS_NAMES.some((name) => name === className)) throw appError('NOT_FOUND');
  throw appError('INVALID_QUERY', {
    message: `A query of installations cannot contain a sub-query of the class ${className}.`,
  });
}

import { Injectable } from '@nestjs/common';
import { CLASS_NAMES } from '#contracts';
import { type Database, type Queryable, type Tx, UNESTIMATED_APP } from '#database';
import { appError, type AppError, isAppError } from '#errors';
import {
  compileCondition,
  compileCount,
  type ImportClaim,
  installationClass,
  type InstallationRow,
  parseWhere,
  type QueryClass,
  type QueryScope,
} from '#objects';
import { ObjectRepository, QueryDatabase, queryFailure } from '#objects/store';
import { partitionOf } from '../device-queues/device-queues.js';
import { PushDatabase } from '../push-delivery.database.js';
import { InstallationEntity } from '../pushes/push.entity.js';
import {
  isForOneDevice,
  type PushJob,
  type PushTarget,
  type ScanPosition,
  type TargetedInstallation,
} from '../pushes/push.row.js';
import type { InstallationIdentity } from './installation.rules.js';

const TOKEN_FIELD = 'deviceToken';
const STORAGE = { objectClass: installationClass, entity: InstallationEntity, internal: ['invalidReason'] };

type StoredInstallation = Partial<Pick<InstallationEntity, 'partition' | 'invalidReason'>>;

@Injectable()
export class InstallationsRepository extends ObjectRepository<InstallationRow> {
  constructor(database: PushDatabase, queries: QueryDatabase) {
    super(STORAGE, database, queries);
  }

  /** Locks identities, stored or not, until the transaction ends: one statement, in one order, with those stored now, so that no deadlock is possible. */
  async lockIdentities(tx: Tx, appId: string, identities: readonly InstallationIdentity[]): Promise<void> {
    const present = await this.#presentIdentities(tx, appId, identities);
    const names = new Set([...identities, ...present].flatMap(namesOf));
    await tx.query(
      'SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM unnest($1::text[]) AS name',
      [[...names].sort().map((name) => `push.installations ${appId} ${name}`)],
      'installations.lockIdentities',
    );
  }

  /** Finds by one of the ids, or by a token with its type or vendor; locks until the transaction ends, also for a removal. */
  async lockMatching(tx: Tx, appId: string, identity: InstallationIdentity): Promise<InstallationRow[]> {
    const { objectId, installationId, deviceType, deviceToken, vendor, registrationId } = identity;
    const sought = [objectId, installationId, deviceType, deviceToken, vendor, registrationId];
    const rows = await tx.query<object>(
      `SELECT ${this.statements.columns} FROM push.installations
        WHERE app_id = $1 AND (object_id = $2 OR installation_id = $3 OR (device_type = $4 AND device_token = $5)
                               OR (lower(fields->>'vendor') = $6 AND fields->>'registrationId' = $7))
        ORDER BY object_id FOR UPDATE`,
      [appId, ...sought.map((value) => value ?? null)],
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

  #presentIdentities(
    tx: Tx,
    appId: string,
    identities: readonly InstallationIdentity[],
  ): Promise<InstallationIdentity[]> {
    const objectIds = identities.flatMap(({ objectId }) => objectId ?? []);
    const installationIds = identities.flatMap(({ installationId }) => installationId ?? []);
    return tx.query<InstallationIdentity>(
      `SELECT object_id AS "objectId", installation_id AS "installationId", device_token AS "deviceToken",
              fields->>'registrationId' AS "registrationId"
         FROM push.installations WHERE app_id = $1 AND (object_id = ANY ($2) OR installation_id = ANY ($3))`,
      [appId, objectIds, installationIds],
      'installations.presentIdentities',
    );
  }
}

function namesOf({ objectId, installationId, deviceToken, registrationId }: InstallationIdentity): string[] {
  return [
    ...(objectId === undefined ? [] : [`object ${objectId}`]),
    ...(typeof installationId !== 'string' ? [] : [`installation ${installationId}`]),
    ...(typeof deviceToken !== 'string' ? [] : [`token ${deviceToken}`]),
    ...(typeof registrationId !== 'string' ? [] : [`registration ${registrationId}`]),
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

function classOf(className: string): QueryClass {
  if (className === INSTALLATION_QUERY_CLASS.className) return INSTALLATION_QUERY_CLASS;
  if (!CLASS_NAMES.some((name) => name === className)) throw appError('NOT_FOUND');
  throw appError('INVALID_QUERY', {
    message: `A query of installations cannot contain a sub-query of the class ${className}.`,
  });
}

const BEFORE_ALL: ScanPosition = { partition: -1, objectId: '' };
const COUNTED_PAGE = 10_000;

/** A range of the scan: it excludes `after` and includes `until`. */
export interface ScanRange {
  readonly after: ScanPosition;
  readonly until?: ScanPosition | undefined;
  readonly limit: number;
}

export type ScannedPush = Pick<PushJob, 'appId' | 'target' | 'hasVendors'>;

@Injectable()
export class InstallationScanRepository {
  constructor(private readonly database: PushDatabase) {}

  /** @throws AppError QUERY_TIMED_OUT; INVALID_QUERY if PostgreSQL refuses a regular expression */
  async find(
    { appId, target, hasVendors }: ScannedPush,
    range: ScanRange,
    within: Queryable = this.database,
  ): Promise<TargetedInstallation[]> {
    const { after, until, limit } = range;
    const bound = [appId, after.partition, after.objectId, until?.partition, until?.objectId, limit, target.platforms];
    const { sql, parameters } = compileCondition(
      parseWhere([...target.where]),
      INSTALLATION_QUERY_CLASS,
      pushScope(appId),
      bound.map((value) => value ?? null),
    );
    try {
      return await within.query<TargetedInstallation>(`${find(hasVendors)} AND ${sql} ${IN_ORDER}`, parameters);
    } catch (error) {
      throw queryFailure(error);
    }
  }

  /** @returns undefined if there are more than `limit` or the search takes longer than `timeoutMs` @throws as `find` */
  async findFew(push: ScannedPush, limit: number, timeoutMs: number): Promise<TargetedInstallation[] | undefined> {
    const range = { after: BEFORE_ALL, limit: limit + 1 };
    const found = await unlessTimedOut(
      isForOneDevice(push.target)
        ? this.find(push, range)
        : this.database.readInTime(timeoutMs, (tx) => this.find(push, range, tx)),
    );
    return found === undefined || found.length > limit ? undefined : found;
  }

  /** Calls `onPage` with each page. @returns whether all were found in time @throws AppError INVALID_QUERY, as `find` */
  async findInTime(
    push: ScannedPush,
    timeoutMs: number,
    within: Database,
    onPage: (installations: readonly TargetedInstallation[]) => void,
  ): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    let after = BEFORE_ALL;
    for (;;) {
      const leftMs = Math.ceil(deadline - performance.now());
      if (leftMs <= 0) return false;
      const range = { after, limit: COUNTED_PAGE };
      const page = await unlessTimedOut(within.readInTime(leftMs, (tx) => this.find(push, range, tx)));
      if (page === undefined) return false;
      onPage(page);
      const last = page.at(-1);
      if (page.length < COUNTED_PAGE || last === undefined) return true;
      after = last;
    }
  }

  /** Counts installations that meet the conditions but are no target; undefined if the count takes too long. */
  async countLeftOut(
    { appId, target }: ScannedPush,
    timeoutMs: number,
    within: Database,
  ): Promise<{ invalid: number; notSeen: number } | undefined> {
    const where = parseWhere([...target.where]);
    const bound = [appId, target.platforms ?? null];
    const { sql, parameters } = compileCondition(where, INSTALLATION_QUERY_CLASS, pushScope(appId), bound);
    const counting = within.readInTime(timeoutMs, (tx) =>
      tx
        .query<{ invalid: number; notSeen: number }>(
          `SELECT (count(*) FILTER (WHERE NOT valid))::int AS invalid, (count(*) FILTER (WHERE valid))::int AS "notSeen"
             FROM push.installations
            WHERE app_id = $1 AND ($2::text[] IS NULL OR device_type = ANY ($2)) AND NOT (${IS_TARGET}) AND ${sql}`,
          parameters,
        )
        .catch((error: unknown) => {
          throw queryFailure(error);
        }),
    );
    const rows = await unlessTimedOut(counting);
    return rows?.[0];
  }

  /** Counts installations that are no target, too; undefined if fewer than `count` remain. */
  async positionAfter(
    appId: string,
    { partition, objectId }: ScanPosition,
    count: number,
  ): Promise<ScanPosition | undefined> {
    try {
      const [position] = await this.database.query<ScanPosition>(
        `SELECT partition, object_id AS "objectId" FROM push.installations
          WHERE app_id = $1 AND ${POSITION} > ($2, $3)
          ORDER BY app_id, partition, object_id COLLATE "C" LIMIT 1 OFFSET $4`,
        [appId, partition, objectId, count - 1],
      );
      return position;
    } catch (error) {
      throw queryFailure(error);
    }
  }
}

/** Byte order, in which Redis and JavaScript compare the marks of a push: the database's collation may differ. */
const POSITION = '(partition, object_id COLLATE "C")';
const find = (hasVendors: boolean) => `
  SELECT object_id AS "objectId", partition, installation_id AS "installationId", device_type AS "deviceType"${hasVendors ? ADDRESS : ''}
    FROM push.installations
   WHERE app_id = $1 AND ${POSITION} > ($2, $3)
     AND ($4::smallint IS NULL OR ${POSITION} <= ($4, $5::text))
     AND ($7::text[] IS NULL OR device_type = ANY ($7))
     AND ${IS_TARGET}`;
const ADDRESS = `,
         json_build_object('hasToken', device_token IS NOT NULL, 'hasRegistrationId', coalesce(fields->>'registrationId', '') <> '',
                           'hasSubscription', fields ? 'webPush', 'vendor', fields->>'vendor', 'profile', nullif(fields->>'deviceProfile', ''),
                           'topic', nullif(fields->>'apnsTopic', ''), 'teamId', nullif(fields->>'apnsTeamId', '')) AS address`;
const IN_ORDER = 'ORDER BY app_id, partition, object_id COLLATE "C" LIMIT $6';

async function unlessTimedOut<Result>(search: Promise<Result>): Promise<Result | undefined> {
  try {
    return await search;
  } catch (error) {
    if (isAppError(error, 'QUERY_TIMED_OUT')) return undefined;
    throw error;
  }
}

import { Injectable } from '@nestjs/common';
import type { Database, Queryable } from '#database';
import { isAppError } from '#errors';
import { compileCondition, parseWhere } from '#objects';
import { queryFailure } from '#objects/store';
import { INSTALLATION_QUERY_CLASS, IS_TARGET, pushScope } from '../installations/installations.repository.js';
import { PushDatabase } from '../push-delivery.database.js';
import { isForOneDevice, type PushJob, type ScanPosition, type TargetedInstallation } from '../pushes/push.row.js';

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

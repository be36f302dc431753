import { Injectable } from '@nestjs/common';
import { UNKNOWN_PLATFORM } from '../dispatch/delivery-counts.rules.js';
import { IS_TARGET } from '../installations/installation-query.fields.js';
import { PushDatabase } from '../push-delivery.database.js';

export interface DeviceCount {
  readonly platform: string;
  readonly installations: number;
  /** Of them, those that a push to all would be for. */
  readonly targeted: number;
}

/** Counts installations. */
@Injectable()
export class DeviceCountsRepository {
  constructor(private readonly database: PushDatabase) {}

  count(appId: string): Promise<DeviceCount[]> {
    return this.database.query<DeviceCount>(
      `SELECT COALESCE(device_type, $2) AS platform, count(*)::float8 AS installations,
              (count(*) FILTER (WHERE ${IS_TARGET}))::float8 AS targeted
         FROM push.installations WHERE app_id = $1 GROUP BY 1 ORDER BY 1`,
      [appId, UNKNOWN_PLATFORM],
    );
  }
}

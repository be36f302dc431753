import { Injectable } from '@nestjs/common';
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
      `SELECT COALESCE(device_type, 'unknown') AS platform, count(*)::float8 AS installations,
              (count(*) FILTER (WHERE valid AND updated_at > now() - interval '90 days'))::float8 AS targeted
         FROM push.installations WHERE app_id = $1 GROUP BY 1 ORDER BY 1`,
      [appId],
    );
  }
}

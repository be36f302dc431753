import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '#database';
import type { CompiledCount, CompiledFind } from '#objects';
import { countRows, listBounded } from '#objects/store';
import { currentTraceparent } from '#observability';
import { PushDatabase } from '../push-delivery.database.js';
import type { NewNotification, NotificationRow, NotificationStatus } from './notification.row.js';

const COLUMNS = `app_id AS "appId", object_id AS "objectId", seq::float8 AS seq, notification_id AS "notificationId", status,
  is_bulk AS "isBulk", target, data, message, prod, flow_control AS "flowControl", due_at AS "dueAt",
  expires_at AS "expiresAt", counts, error, created_at AS "createdAt", updated_at AS "updatedAt"`;
const LISTED = {
  table: 'push.notifications',
  columns: COLUMNS,
  size: 'octet_length(target::text) + octet_length(data::text)',
};

/** A part of a list. */
export interface Page {
  readonly limit: number;
  readonly skip: number;
}

/** Pushes as applications see them. Who sends them: `dispatch`. */
@Injectable()
export class NotificationsRepository {
  constructor(private readonly database: PushDatabase) {}

  async add(tx: Tx, row: NewNotification, status: NotificationStatus): Promise<void> {
    await tx.query(
      `INSERT INTO push.notifications
         (app_id, object_id, notification_id, status, is_bulk, target, data, message, prod, flow_control, due_at,
          expires_at, created_at, updated_at, request_id, traceparent)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14, $15)`,
      [
        row.appId,
        row.objectId,
        row.notificationId,
        status,
        row.isBulk,
        JSON.stringify(row.target),
        JSON.stringify(row.data),
        JSON.stringify(row.message),
        row.prod,
        row.flowControl,
        row.dueAt,
        row.expiresAt,
        row.createdAt,
        row.requestId,
        currentTraceparent(),
      ],
    );
  }

  async find(appId: string, objectId: string): Promise<NotificationRow | undefined> {
    const sql = `SELECT ${COLUMNS} FROM push.notifications WHERE app_id = $1 AND object_id = $2`;
    return (await this.database.query<NotificationRow>(sql, [appId, objectId], 'notifications.find'))[0];
  }

  list(within: Queryable, query: CompiledFind): Promise<NotificationRow[]> {
    return listBounded<NotificationRow>(within, LISTED, query);
  }

  count(within: Queryable, query: CompiledCount): Promise<number> {
    return countRows(within, query);
  }

  listScheduled(appId: string, { limit, skip }: Page): Promise<NotificationRow[]> {
    return this.database.query<NotificationRow>(
      `SELECT ${COLUMNS} FROM push.notifications WHERE app_id = $1 AND status = 'scheduled' ORDER BY seq LIMIT $2 OFFSET $3`,
      [appId, limit, skip],
    );
  }

  async findScheduled(appId: string, seq: number): Promise<NotificationRow | undefined> {
    const sql = `SELECT ${COLUMNS} FROM push.notifications WHERE app_id = $1 AND seq = $2 AND status = 'scheduled'`;
    return (await this.database.query<NotificationRow>(sql, [appId, seq]))[0];
  }

  /** Who works on it notices that it is gone, and stops. @returns whether it was there */
  async remove(appId: string, objectId: string): Promise<boolean> {
    const sql = 'DELETE FROM push.notifications WHERE app_id = $1 AND object_id = $2 RETURNING 1';
    return (await this.database.query(sql, [appId, objectId])).length > 0;
  }

  /**
   * Removes a push that has not begun. Who begins one says so in the row, under its lock: of the two, one finds the row as the
   * other has left it. @returns whether it was there
   */
  async removeScheduled(appId: string, seq: number): Promise<boolean> {
    const sql = `DELETE FROM push.notifications WHERE app_id = $1 AND seq = $2 AND status = 'scheduled' RETURNING 1`;
    return (await this.database.query(sql, [appId, seq])).length > 0;
  }
}

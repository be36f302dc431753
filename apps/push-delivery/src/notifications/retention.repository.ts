import { Injectable } from '@nestjs/common';
import { PushDatabase } from '../push-delivery.database.js';

/** Rows that one statement deletes: few enough that no request waits long for their locks. */
const BATCH_SIZE = 500;

/** A week after it was sent (the API's rule), once its message has expired and its last counts are in the row. */
const OLD_NOTIFICATIONS = `
  DELETE FROM push.notifications WHERE (app_id, object_id) IN (
    SELECT app_id, object_id FROM push.notifications
     WHERE status IN ('done', 'error') AND due_at < now() - interval '7 days' AND expires_at < now() AND next_tally_at IS NULL
     ORDER BY due_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED) RETURNING 1`;

/** They count for five minutes, by clocks that may differ. */
const OLD_REQUEST_IDS = `
  DELETE FROM push.request_ids WHERE (app_id, req_id) IN (
    SELECT app_id, req_id FROM push.request_ids WHERE created_at < now() - interval '1 hour'
     ORDER BY created_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED) RETURNING 1`;

@Injectable()
export class RetentionRepository {
  constructor(private readonly database: PushDatabase) {}

  /** Deletes a batch of each kind. @returns whether more may be left */
  async processBatch(): Promise<boolean> {
    let isMore = false;
    for (const statement of [OLD_NOTIFICATIONS, OLD_REQUEST_IDS]) {
      const taken = await this.database.query(statement);
      isMore ||= taken.length === BATCH_SIZE;
    }
    return isMore;
  }
}

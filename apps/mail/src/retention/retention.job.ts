import { Injectable } from '@nestjs/common';
import { PeriodicJob } from '#bootstrap';
import { Metrics } from '#observability';
import { MailDatabase } from '../mail.database.js';

/** Rows that one statement deletes: few enough that no request waits long for their locks. */
const BATCH_SIZE = 500;

/** As long as operators may ask what became of a message. */
const SETTLED_DELIVERIES = `
  DELETE FROM mail.deliveries WHERE id IN (
    SELECT id FROM mail.deliveries WHERE settled_at < now() - interval '30 days'
     ORDER BY settled_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED) RETURNING 1`;

/** What is dead and has expired is never sent again. */
const USELESS_CONTENTS = `
  UPDATE mail.deliveries SET sealed_content = NULL WHERE id IN (
    SELECT id FROM mail.deliveries WHERE status = 'dead' AND expires_at <= now() AND sealed_content IS NOT NULL
     ORDER BY created_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED) RETURNING 1`;

/** A request for a mail that is older than a change comes long before, however its events are delayed. */
const OLD_RECIPIENTS = `
  DELETE FROM mail.recipients WHERE (app_id, user_id) IN (
    SELECT app_id, user_id FROM mail.recipients WHERE noted_at < now() - interval '8 days'
     ORDER BY noted_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED) RETURNING 1`;

/** Windows are a day long at most. */
const OLD_ALLOWANCES = `
  DELETE FROM mail.allowances WHERE (app_id, window_start) IN (
    SELECT app_id, window_start FROM mail.allowances WHERE window_start < now() - interval '2 days'
     LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED) RETURNING 1`;

@Injectable()
export class RetentionRepository {
  constructor(private readonly database: MailDatabase) {}

  /** Deletes a batch of each kind. @returns whether more may be left */
  async processBatch(): Promise<boolean> {
    let isMore = false;
    for (const statement of [SETTLED_DELIVERIES, USELESS_CONTENTS, OLD_RECIPIENTS, OLD_ALLOWANCES]) {
      const taken = await this.database.query(statement);
      isMore ||= taken.length === BATCH_SIZE;
    }
    return isMore;
  }
}

const INTERVAL_MS = 60_000;

/** Deletes what the mail service keeps no longer. Replicas pass over the rows that another one deletes. */
@Injectable()
export class RetentionJob extends PeriodicJob {
  constructor(
    private readonly retention: RetentionRepository,
    metrics: Metrics,
  ) {
    super({ name: 'mail-cleanup', intervalMs: INTERVAL_MS, metrics });
  }

  processBatch(): Promise<boolean> {
    return this.retention.processBatch();
  }
}

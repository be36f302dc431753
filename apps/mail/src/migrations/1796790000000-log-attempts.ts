// Why: operators see why each attempt at a message failed, and page through the messages of an application.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class LogAttempts1796790000000 implements MigrationInterface {
  /** A build beside the traffic cannot be part of a transaction. Each statement can be repeated after an interruption. */
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE mail.deliveries ADD COLUMN IF NOT EXISTS attempt_log jsonb DEFAULT '[]' NOT NULL`);
    // The build waits for running transactions, but blocks neither reads nor writes.
    await runner.query('SET lock_timeout = 0');
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS mail.deliveries_application_idx');
    await runner.query(
      'CREATE INDEX CONCURRENTLY deliveries_application_idx ON mail.deliveries (app_id, created_at, id)',
    );
    await runner.query('RESET lock_timeout');
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

// Why: operators search users by the beginning of a username or an address in any case of letters, among millions.
import type { MigrationInterface, QueryRunner } from 'typeorm';

const INDEXES = {
  users_lower_username_idx: '(app_id, lower(username), object_id)',
  users_lower_email_idx: '(app_id, lower(email), object_id) WHERE email IS NOT NULL',
};

export class SearchUsers1796780000000 implements MigrationInterface {
  /** A build beside the traffic cannot be part of a transaction. An interrupted one leaves an invalid index, which the next run replaces. */
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // The build waits for running transactions, but blocks neither reads nor writes.
    await runner.query('SET lock_timeout = 0');
    for (const [name, definition] of Object.entries(INDEXES)) {
      await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS accounts.${name}`);
      await runner.query(`CREATE INDEX CONCURRENTLY ${name} ON accounts.users ${definition}`);
    }
    await runner.query('RESET lock_timeout');
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

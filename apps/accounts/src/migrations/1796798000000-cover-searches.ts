// Why: the matches of a beginning are counted and sorted by the index alone, without reading their rows; and searches estimate the matches of
// a part, for which the usual 100 parts of a histogram are too few.
import type { MigrationInterface, QueryRunner } from 'typeorm';

const INDEXES = {
  users_lower_username_idx: '(app_id, lower(username), object_id) INCLUDE (username, created_at)',
  users_lower_email_idx: '(app_id, lower(email), object_id) INCLUDE (email, created_at) WHERE email IS NOT NULL',
};

export class CoverSearches1796798000000 implements MigrationInterface {
  /** A build beside the traffic cannot be part of a transaction. The next run repeats an interrupted one. */
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // The build waits for running transactions, but blocks neither reads nor writes.
    await runner.query('SET lock_timeout = 0');
    for (const [name, definition] of Object.entries(INDEXES)) {
      // An interrupted run may have left the new index whole, and no other one.
      const [built] = (await runner.query(
        `SELECT FROM pg_index WHERE indexrelid = to_regclass('accounts.new_${name}') AND indisvalid`,
      )) as unknown[];
      if (built === undefined) {
        await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS accounts.new_${name}`);
        await runner.query(`CREATE INDEX CONCURRENTLY new_${name} ON accounts.users ${definition}`);
      }
      await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS accounts.${name}`);
      await runner.query(`ALTER INDEX accounts.new_${name} RENAME TO ${name}`);
    }
    await runner.query(
      'ALTER TABLE accounts.users ALTER COLUMN username SET STATISTICS 1000, ALTER COLUMN email SET STATISTICS 1000',
    );
    // Also the new indexes need statistics of their expressions.
    await runner.query('ANALYZE accounts.users');
    await runner.query('RESET lock_timeout');
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

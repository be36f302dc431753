// Why: an import recognises users that have changed here since, and passwords that it has imported before.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ImportUsers1796720000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE accounts.users ADD COLUMN last_change_at timestamptz(3), ADD COLUMN imported_password_hash bytea',
    );
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

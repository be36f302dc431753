// Why: the gateway signs the identity of forwarded requests with a secret of the application.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AddForwardSecret1796730000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE accounts.applications ADD COLUMN sealed_forward_secret text');
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

// Why: a message belongs to the trace of the request that it was asked for in, also while it waits.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AddDeliveryTraces1796300100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE mail.deliveries ADD COLUMN traceparent text');
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

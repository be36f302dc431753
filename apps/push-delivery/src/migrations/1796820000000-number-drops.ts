// Why: drops have positions, so that a repeated report of drops to a device changes nothing.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class NumberDrops1796820000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE push.dropped_messages ADD reported_up_to bigint NOT NULL DEFAULT 0');
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

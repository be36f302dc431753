// Why: the logs and traces of an event's handler name the request that caused it.
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addOutboxOrigin } from '#database';

export class AddEventOrigins1796300000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(addOutboxOrigin('accounts'));
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

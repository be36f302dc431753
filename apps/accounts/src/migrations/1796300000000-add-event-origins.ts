// Why: the request that an event follows from is told in the logs and traces of whoever handles it.
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

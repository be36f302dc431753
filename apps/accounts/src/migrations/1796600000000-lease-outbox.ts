// Why: the relay publishes outside any transaction; the lock under which it works is a lease.
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addOutboxLease } from '#database';

export class LeaseOutbox1796600000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(addOutboxLease('accounts'));
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

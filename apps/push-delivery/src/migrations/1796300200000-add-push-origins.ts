// A push belongs to the trace and to the log lines of the request that sent it, in every process that works on it.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AddPushOrigins1796300200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE push.notifications ADD COLUMN request_id text, ADD COLUMN traceparent text');
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

// Why: operators make indexes of custom fields; what they want, and which questions were slow, outlasts a process.
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFieldIndexTables } from '#objects/store';

export class CreateFieldIndexes1796710100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of createFieldIndexTables('push')) await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

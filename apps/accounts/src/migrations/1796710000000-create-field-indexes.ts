// Why: operators make indexes of custom fields; what they want, and which questions were slow, outlasts a process.
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFieldIndexTables } from '#objects/store';

export class CreateFieldIndexes1796710000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of createFieldIndexTables('accounts')) await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

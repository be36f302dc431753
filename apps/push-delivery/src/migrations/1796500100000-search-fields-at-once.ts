// Why: as in accounts, a search by a field of installations read every note that writes had left for the index.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SearchFieldsAtOnce1796500100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER INDEX push.installations_fields_idx SET (fastupdate = off)');
    await runner.query(`SELECT gin_clean_pending_list('push.installations_fields_idx')`);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

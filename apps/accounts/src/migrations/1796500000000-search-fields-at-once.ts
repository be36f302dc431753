// Why: by default a write only notes its fields for a GIN index, and every search reads the notes, up to 4 MB of them, until
// they are sorted in. With writes going on a search by a field then costs several times its due.
import type { MigrationInterface, QueryRunner } from 'typeorm';

const INDEXES = ['users_fields_idx', 'roles_fields_idx'];

export class SearchFieldsAtOnce1796500000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const index of INDEXES) {
      await runner.query(`ALTER INDEX accounts.${index} SET (fastupdate = off)`);
      await runner.query(`SELECT gin_clean_pending_list('accounts.${index}')`);
    }
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

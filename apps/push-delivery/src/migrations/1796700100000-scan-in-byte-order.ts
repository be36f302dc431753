// Why: imported installations have ids of other characters than hexadecimal digits, and a push remembers how far it has come by an
// id. So the scan has the one order that Redis and JavaScript have too, whatever the collation of the database. Releases before this one
// go by `installations_targets_idx`; a later release removes it.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ScanInByteOrder1796700100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE INDEX installations_scan_idx ON push.installations (app_id, partition, object_id COLLATE "C")',
    );
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

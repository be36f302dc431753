// Why: an import replaces a password and a session token that it has kept from an earlier version of the user.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class NoteEarlierCredentials1796820000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `ALTER TABLE accounts.users
         ADD COLUMN has_earlier_password boolean NOT NULL DEFAULT false,
         ADD COLUMN has_earlier_token boolean NOT NULL DEFAULT false`,
    );
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

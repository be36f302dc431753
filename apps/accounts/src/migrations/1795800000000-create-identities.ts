// Why: accounts on other platforms. One of them binds to one user: the primary key says so (specification, authData).
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateIdentities1795800000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [addEntries, createIdentities]) await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** Sealed: the entries hold the platforms' tokens. */
const addEntries = 'ALTER TABLE accounts.users ADD COLUMN sealed_identities text';

const createIdentities = `
  CREATE TABLE accounts.identities (
    app_id      text NOT NULL,
    platform    text COLLATE "C" NOT NULL,
    uid         text COLLATE "C" NOT NULL,
    user_id     text NOT NULL,
    kind        text,
    is_verified boolean NOT NULL,
    CONSTRAINT identities_pkey PRIMARY KEY (app_id, platform, uid),
    CONSTRAINT identities_user_platform_key UNIQUE (app_id, user_id, platform),
    CONSTRAINT identities_user_fkey FOREIGN KEY (app_id, user_id)
      REFERENCES accounts.users (app_id, object_id) ON DELETE CASCADE
  )`;

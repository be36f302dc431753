// Why: keys of applications and the deployment's secret are replaced while the old ones are still in use.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateRotations1796400000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [createOldKeys, createSecretRotations]) await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** Keys that were replaced and still let requests in: until then, or until they are revoked. */
const createOldKeys = `
  CREATE TABLE accounts.old_application_keys (
    app_id         text NOT NULL,
    id             uuid NOT NULL DEFAULT gen_random_uuid(),
    kind           text NOT NULL,
    sealed_key     text NOT NULL,
    replaced_at    timestamptz(3) NOT NULL DEFAULT now(),
    accepted_until timestamptz(3),
    CONSTRAINT old_application_keys_pkey PRIMARY KEY (app_id, id),
    CONSTRAINT old_application_keys_kind_check CHECK (kind IN ('app', 'master')),
    CONSTRAINT old_application_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES accounts.applications (id)
  )`;

/** When the last value at rest was sealed anew with the key. */
const createSecretRotations = `
  CREATE TABLE accounts.secret_rotations (
    key_id       text NOT NULL,
    completed_at timestamptz(3) NOT NULL DEFAULT now(),
    CONSTRAINT secret_rotations_pkey PRIMARY KEY (key_id)
  )`;

// Why: operators sign in by an OpenID Connect issuer, which can give them their roles too.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AddOidc1796810000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Columns without a stored default rewrite nothing.
    await runner.query(`ALTER TABLE console.operators
      ADD COLUMN oidc_issuer text,
      ADD COLUMN oidc_subject text,
      ADD COLUMN grants_by_groups boolean NOT NULL DEFAULT false`);
    // Partial, so that it is no target of foreign keys: a change of these columns does not wait for rows that refer to the operator.
    await runner.query(`CREATE UNIQUE INDEX operators_oidc_key ON console.operators (oidc_issuer, oidc_subject)
      WHERE oidc_subject IS NOT NULL`);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

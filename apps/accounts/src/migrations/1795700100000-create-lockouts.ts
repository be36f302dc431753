// Why: failed logins and locks, for the standalone server; services count in Redis and leave the table empty.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateLockouts1795700100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [createLockouts, indexLockoutsByEnd, indexLockoutsByExpiry]) await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

// Without a foreign key to users: names of no user are counted too.
const createLockouts = `
  CREATE TABLE accounts.lockouts (
    app_id       text NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    attempts     jsonb NOT NULL,
    locked_until timestamptz(3),
    expires_at   timestamptz(3) NOT NULL,
    CONSTRAINT lockouts_pkey PRIMARY KEY (app_id, user_id)
  )`;

const indexLockoutsByEnd = `
  CREATE INDEX lockouts_locked_until_idx ON accounts.lockouts (app_id, locked_until, user_id)
   WHERE locked_until IS NOT NULL`;
const indexLockoutsByExpiry = 'CREATE INDEX lockouts_expires_at_idx ON accounts.lockouts (expires_at)';

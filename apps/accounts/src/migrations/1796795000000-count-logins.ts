// Why: the console draws the logins per day, which the rows of users do not hold.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CountLogins1796795000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(createDailyLogins);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const createDailyLogins = `
  CREATE TABLE accounts.daily_logins (
    app_id text NOT NULL,
    day    date NOT NULL,
    logins bigint NOT NULL,
    CONSTRAINT daily_logins_pkey PRIMARY KEY (app_id, day)
  )`;

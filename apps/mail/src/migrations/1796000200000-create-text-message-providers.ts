// Why: who carries an application's text messages; its secrets are sealed.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateTextMessageProviders1796000200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(createTextMessageProviders);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const createTextMessageProviders = `
  CREATE TABLE mail.text_message_providers (
    app_id         text NOT NULL,
    kind           text NOT NULL,
    shown          jsonb NOT NULL,
    sealed_secrets text NOT NULL,
    updated_at     timestamptz(3) NOT NULL DEFAULT now(),
    CONSTRAINT text_message_providers_pkey PRIMARY KEY (app_id)
  )`;

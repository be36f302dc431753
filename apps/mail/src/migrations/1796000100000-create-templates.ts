// Why: mails in an application's own words.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateTemplates1796000100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(createTemplates);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** `revision` changes with every change, so that a process knows whether its compiled copy is current. */
const createTemplates = `
  CREATE TABLE mail.templates (
    app_id     text NOT NULL,
    kind       text NOT NULL,
    language   text NOT NULL,
    subject    text NOT NULL,
    html       text NOT NULL,
    text       text NOT NULL,
    revision   uuid NOT NULL DEFAULT gen_random_uuid(),
    updated_at timestamptz(3) NOT NULL DEFAULT now(),
    CONSTRAINT templates_pkey PRIMARY KEY (app_id, kind, language)
  )`;

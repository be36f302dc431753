// Why: mailed links die with what they were made for, and a mailbox gets so many mails only.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateMailLinks1795950000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [countChanges, createAllowances, indexAllowancesByExpiry]) await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** How often address and password were changed: a link is good for the state that it was made in. */
const countChanges = `
  ALTER TABLE accounts.users
    ADD COLUMN email_version    integer NOT NULL DEFAULT 0,
    ADD COLUMN password_version integer NOT NULL DEFAULT 0`;

/** When a mailbox got its latest mails; it means nothing any more once the last of them is a day old. */
const createAllowances = `
  CREATE TABLE accounts.mail_allowances (
    app_id     text NOT NULL,
    mailbox    text NOT NULL,
    sent_at    timestamptz(3)[] NOT NULL,
    expires_at timestamptz(3) NOT NULL,
    CONSTRAINT mail_allowances_pkey PRIMARY KEY (app_id, mailbox),
    CONSTRAINT mail_allowances_app_id_fkey FOREIGN KEY (app_id) REFERENCES accounts.applications (id)
  )`;
const indexAllowancesByExpiry = 'CREATE INDEX mail_allowances_expires_at_idx ON accounts.mail_allowances (expires_at)';

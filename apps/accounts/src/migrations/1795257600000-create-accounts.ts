// Why: the first tables of the accounts service: applications, users, and its outbox.
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createOutboxTables } from '#database';

export class CreateAccounts1795257600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const statements = [
      createApplications,
      createUsers,
      indexUsersByCreation,
      indexUsersByField,
      ...createOutboxTables('accounts'),
    ];
    for (const statement of statements) await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const createApplications = `
  CREATE TABLE accounts.applications (
    id                text NOT NULL,
    name              text NOT NULL,
    sealed_app_key    text NOT NULL,
    sealed_master_key text NOT NULL,
    settings          jsonb NOT NULL DEFAULT '{}',
    created_at        timestamptz(3) NOT NULL DEFAULT now(),
    CONSTRAINT applications_pkey PRIMARY KEY (id)
  )`;

const createUsers = `
  CREATE TABLE accounts.users (
    app_id                text NOT NULL,
    object_id             text NOT NULL,
    username              text NOT NULL,
    email                 text,
    email_verified        boolean,
    mobile_phone_number   text,
    mobile_phone_verified boolean NOT NULL DEFAULT false,
    password_hash         text,
    session_token_hash    bytea NOT NULL,
    sealed_session_token  text NOT NULL,
    acl                   jsonb,
    fields                jsonb NOT NULL DEFAULT '{}',
    created_at            timestamptz(3) NOT NULL,
    updated_at            timestamptz(3) NOT NULL,
    CONSTRAINT users_pkey PRIMARY KEY (app_id, object_id),
    CONSTRAINT users_username_key UNIQUE (app_id, username),
    CONSTRAINT users_email_key UNIQUE (app_id, email),
    CONSTRAINT users_mobile_phone_number_key UNIQUE (app_id, mobile_phone_number),
    CONSTRAINT users_session_token_key UNIQUE (app_id, session_token_hash),
    CONSTRAINT users_app_id_fkey FOREIGN KEY (app_id) REFERENCES accounts.applications (id)
  )`;

const indexUsersByCreation = 'CREATE INDEX users_created_at_idx ON accounts.users (app_id, created_at, object_id)';
const indexUsersByField = 'CREATE INDEX users_fields_idx ON accounts.users USING gin (fields jsonb_path_ops)';

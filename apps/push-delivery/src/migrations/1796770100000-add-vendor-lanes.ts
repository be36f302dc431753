// Why: what operators and answers of vendors have decided about a channel holds in every process and after a restart (ADR 35).
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AddVendorLanes1796770100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [createLanes, addKnownLanes, createDevelopmentDevices, createSenders, numberAnswers])
      await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const createLanes = `
  CREATE TABLE push.vendor_lanes (
    app_id         text NOT NULL,
    lane           text NOT NULL,
    credentials_at timestamptz(3) NOT NULL,
    paused_at      timestamptz(3),
    trusted_until  timestamptz(3),
    doubted_at     timestamptz(3),
    is_proven      boolean NOT NULL DEFAULT false,
    counted_since  timestamptz(3) NOT NULL DEFAULT now(),
    answers        integer NOT NULL DEFAULT 0,
    good           integer NOT NULL DEFAULT 0,
    doubtful       integer NOT NULL DEFAULT 0,
    used_at        timestamptz(3),
    list_asked_at  timestamptz(3),
    list_read_at   timestamptz(3),
    CONSTRAINT vendor_lanes_pkey PRIMARY KEY (app_id, lane)
  )`;

const addKnownLanes = `
  INSERT INTO push.vendor_lanes (app_id, lane, credentials_at)
  SELECT app_id, concat_ws('/', vendor, profile, part, prod), updated_at
    FROM push.vendor_credentials CROSS JOIN (VALUES ('dev'), ('prod')) AS environment (prod)`;

const createDevelopmentDevices = `
  CREATE TABLE push.development_devices (
    app_id    text NOT NULL,
    object_id text NOT NULL,
    CONSTRAINT development_devices_pkey PRIMARY KEY (app_id, object_id),
    CONSTRAINT development_devices_installation_fkey FOREIGN KEY (app_id, object_id)
      REFERENCES push.installations (app_id, object_id) ON DELETE CASCADE
  )`;

const createSenders = `
  CREATE TABLE push.vendor_senders (
    instance text NOT NULL,
    seen_at  timestamptz(3) NOT NULL,
    CONSTRAINT vendor_senders_pkey PRIMARY KEY (instance)
  )`;

const numberAnswers = 'ALTER TABLE push.vendor_batches ADD key_no smallint NOT NULL DEFAULT 0';

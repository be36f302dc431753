// Why: pushes reach devices through the push services of vendors (ADR 35). Devices of a vendor are rows of `vendor_batches`, written
// in the transaction that records the progress of their push. The foreign keys remove them with the push.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AddVendorChannels1796760000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [
      createCredentials,
      createBatches,
      indexWaitingBatches,
      indexBatchesOfPushes,
      createCounts,
      rememberInvalidTokens,
    ])
      await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

const createCredentials = `
  CREATE TABLE push.vendor_credentials (
    app_id         text NOT NULL,
    vendor         text NOT NULL,
    profile        text NOT NULL,
    part           text NOT NULL,
    shown          jsonb NOT NULL,
    sealed_secrets text NOT NULL,
    updated_at     timestamptz(3) NOT NULL DEFAULT now(),
    CONSTRAINT vendor_credentials_pkey PRIMARY KEY (app_id, vendor, profile, part)
  )`;

const createBatches = `
  CREATE TABLE push.vendor_batches (
    id          bigint GENERATED ALWAYS AS IDENTITY,
    app_id      text NOT NULL,
    object_id   text NOT NULL,
    lane        text NOT NULL,
    is_bulk     boolean NOT NULL,
    targets     text[] NOT NULL,
    badges      integer[],
    attempt     smallint NOT NULL DEFAULT 0,
    next_at     timestamptz(3) NOT NULL,
    expires_at  timestamptz(3) NOT NULL,
    lease_owner text,
    lease_until timestamptz(3),
    CONSTRAINT vendor_batches_pkey PRIMARY KEY (id),
    CONSTRAINT vendor_batches_push_fkey FOREIGN KEY (app_id, object_id)
      REFERENCES push.notifications (app_id, object_id) ON DELETE CASCADE
  )`;

const indexWaitingBatches = `
  CREATE INDEX vendor_batches_waiting_idx ON push.vendor_batches (is_bulk, next_at, id)`;

const indexBatchesOfPushes = `
  CREATE INDEX vendor_batches_push_idx ON push.vendor_batches (app_id, object_id)`;

const createCounts = `
  CREATE TABLE push.vendor_counts (
    app_id    text NOT NULL,
    object_id text NOT NULL,
    vendor    text NOT NULL,
    targeted  integer NOT NULL DEFAULT 0,
    accepted  integer NOT NULL DEFAULT 0,
    invalid   integer NOT NULL DEFAULT 0,
    rejected  integer NOT NULL DEFAULT 0,
    expired   integer NOT NULL DEFAULT 0,
    reasons   jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT vendor_counts_pkey PRIMARY KEY (app_id, object_id, vendor),
    CONSTRAINT vendor_counts_push_fkey FOREIGN KEY (app_id, object_id)
      REFERENCES push.notifications (app_id, object_id) ON DELETE CASCADE
  )`;

/** Why a vendor's answer has made an installation invalid; null unless it did. */
const rememberInvalidTokens = 'ALTER TABLE push.installations ADD invalid_reason text';

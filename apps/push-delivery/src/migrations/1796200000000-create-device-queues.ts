// Why: the standalone server keeps the queues of devices in its database; the services keep theirs in Redis.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateDeviceQueues1796200000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [
      createMessages,
      indexExpiringMessages,
      createQueuedMessages,
      indexQueuedMessages,
      createDroppedMessages,
      indexOldDrops,
      createMarks,
      indexOldMarks,
      createTallies,
      indexOldTallies,
    ])
      await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** `seq` is that of the push. */
const createMessages = `
  CREATE TABLE push.messages (
    seq        bigint NOT NULL,
    id         text NOT NULL,
    app_id     text NOT NULL,
    expires_at timestamptz(3) NOT NULL,
    bodies     jsonb NOT NULL,
    body       text NOT NULL,
    CONSTRAINT messages_pkey PRIMARY KEY (seq),
    CONSTRAINT messages_id_key UNIQUE (id)
  )`;
const indexExpiringMessages = `CREATE INDEX messages_expires_at_idx ON push.messages (expires_at)`;

const createQueuedMessages = `
  CREATE TABLE push.queued_messages (
    app_id          text NOT NULL,
    installation_id text NOT NULL,
    seq             bigint NOT NULL,
    platform        text NOT NULL,
    CONSTRAINT queued_messages_pkey PRIMARY KEY (app_id, installation_id, seq)
  )`;
const indexQueuedMessages = `CREATE INDEX queued_messages_seq_idx ON push.queued_messages (seq)`;

/** The dropped messages that devices have not been informed of. */
const createDroppedMessages = `
  CREATE TABLE push.dropped_messages (
    app_id          text NOT NULL,
    installation_id text NOT NULL,
    count           integer NOT NULL,
    expires_at      timestamptz(3) NOT NULL,
    CONSTRAINT dropped_messages_pkey PRIMARY KEY (app_id, installation_id)
  )`;
const indexOldDrops = `CREATE INDEX dropped_messages_expires_at_idx ON push.dropped_messages (expires_at)`;

/** How far through the installations of a partition a push has come. */
const createMarks = `
  CREATE TABLE push.marks (
    app_id     text NOT NULL,
    message_id text NOT NULL,
    partition  smallint NOT NULL,
    position   text NOT NULL,
    kept_until timestamptz(3) NOT NULL,
    CONSTRAINT marks_pkey PRIMARY KEY (app_id, message_id, partition)
  )`;
const indexOldMarks = `CREATE INDEX marks_kept_until_idx ON push.marks (kept_until)`;

const createTallies = `
  CREATE TABLE push.tallies (
    app_id       text NOT NULL,
    message_id   text NOT NULL,
    platform     text NOT NULL,
    enqueued     integer NOT NULL DEFAULT 0,
    acknowledged integer NOT NULL DEFAULT 0,
    overflowed   integer NOT NULL DEFAULT 0,
    kept_until   timestamptz(3) NOT NULL,
    CONSTRAINT tallies_pkey PRIMARY KEY (app_id, message_id, platform)
  )`;
const indexOldTallies = `CREATE INDEX tallies_kept_until_idx ON push.tallies (kept_until)`;

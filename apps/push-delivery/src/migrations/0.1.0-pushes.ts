import { ForwardMigration } from '#database';
import { createFieldIndexTables } from '#objects/store';

// Why: installations, and the pushes that are sent to them.
export class CreatePush1796100000000 extends ForwardMigration {
  override readonly statements = [
    createInstallations,
    'CREATE INDEX installations_targets_idx ON push.installations (app_id, partition, object_id)',
    'CREATE INDEX installations_fields_idx ON push.installations USING gin (fields jsonb_path_ops)',
    'CREATE INDEX installations_newest_idx ON push.installations (app_id, created_at, object_id)',
    createNotifications,
    indexWaitingNotifications,
    'CREATE INDEX notifications_untallied_idx ON push.notifications (next_tally_at) WHERE next_tally_at IS NOT NULL',
    'CREATE INDEX notifications_newest_idx ON push.notifications (app_id, created_at, object_id)',
    `CREATE INDEX notifications_over_idx ON push.notifications (due_at) WHERE status IN ('done', 'error')`,
    createRequestIds,
    'CREATE INDEX request_ids_created_at_idx ON push.request_ids (created_at)',
  ];
}

/** `partition`: `partitionOf` its address. Pushes go through the installations in this order, so that one move of the queues takes many of them. */
const createInstallations = `
  CREATE TABLE push.installations (
    app_id          text NOT NULL,
    object_id       text NOT NULL,
    partition       smallint NOT NULL,
    installation_id text,
    device_type     text,
    device_token    text,
    valid           boolean NOT NULL DEFAULT true,
    acl             jsonb,
    fields          jsonb NOT NULL DEFAULT '{}',
    created_at      timestamptz(3) NOT NULL,
    updated_at      timestamptz(3) NOT NULL,
    CONSTRAINT installations_pkey PRIMARY KEY (app_id, object_id),
    CONSTRAINT installations_installation_id_key UNIQUE (app_id, installation_id),
    CONSTRAINT installations_device_token_key UNIQUE (app_id, device_type, device_token)
  )`;

/** A process that works on a push holds its lease; the cursor is its place. `seq`: the order of acceptance, and the number of a scheduled push. */
const createNotifications = `
  CREATE TABLE push.notifications (
    app_id           text NOT NULL,
    object_id        text NOT NULL,
    seq              bigint GENERATED ALWAYS AS IDENTITY,
    notification_id  text,
    status           text NOT NULL,
    is_bulk          boolean NOT NULL,
    target           jsonb NOT NULL,
    data             jsonb NOT NULL,
    message          jsonb NOT NULL,
    prod             text NOT NULL,
    flow_control     integer,
    due_at           timestamptz(3) NOT NULL,
    expires_at       timestamptz(3) NOT NULL,
    created_at       timestamptz(3) NOT NULL,
    updated_at       timestamptz(3) NOT NULL,
    lease_owner      text,
    lease_until      timestamptz(3),
    failures         integer NOT NULL DEFAULT 0,
    cursor_partition smallint NOT NULL DEFAULT -1,
    cursor_object_id text NOT NULL DEFAULT '',
    counts           jsonb NOT NULL DEFAULT '{}',
    next_tally_at    timestamptz(3),
    error            text,
    CONSTRAINT notifications_pkey PRIMARY KEY (app_id, object_id),
    CONSTRAINT notifications_seq_key UNIQUE (seq),
    CONSTRAINT notifications_status_check CHECK (status IN ('scheduled', 'in-queue', 'done', 'error'))
  )`;

const indexWaitingNotifications = `
  CREATE INDEX notifications_waiting_idx ON push.notifications (is_bulk, due_at, seq) WHERE status IN ('scheduled', 'in-queue')`;

/** The first answer to a request that may be sent again. */
const createRequestIds = `
  CREATE TABLE push.request_ids (
    app_id     text NOT NULL,
    req_id     text NOT NULL,
    object_id  text NOT NULL,
    created_at timestamptz(3) NOT NULL,
    CONSTRAINT request_ids_pkey PRIMARY KEY (app_id, req_id)
  )`;

// A push belongs to the trace and to the log lines of the request that sent it, in every process that works on it.
export class AddPushOrigins1796300200000 extends ForwardMigration {
  override readonly statements = [
    'ALTER TABLE push.notifications ADD COLUMN request_id text, ADD COLUMN traceparent text',
  ];
}

// Why: as in accounts, a search by a field of installations read every pending entry that writes had left for the index.
export class SearchFieldsAtOnce1796500100000 extends ForwardMigration {
  override readonly statements = [
    'ALTER INDEX push.installations_fields_idx SET (fastupdate = off)',
    `SELECT gin_clean_pending_list('push.installations_fields_idx')`,
  ];
}

// Why: imported ids have other characters than hexadecimal digits, and a push stores its place as an id: PostgreSQL, Redis and JavaScript need
// one order, whatever the collation. Earlier releases use `installations_targets_idx`; a later release removes it.
export class ScanInByteOrder1796700100000 extends ForwardMigration {
  override readonly statements = [
    'CREATE INDEX installations_scan_idx ON push.installations (app_id, partition, object_id COLLATE "C")',
  ];
}

// Why: operators make indexes of custom fields; requested indexes and slow kinds of queries outlast a process.
export class CreateFieldIndexes1796710100000 extends ForwardMigration {
  override readonly statements = createFieldIndexTables('push');
}

// Why: an application's pushes are delivered in the order of acceptance (ADR 34): one process holds its lane. A scheduled push gets its
// number when it is due, so `seq` is not always generated. Earlier releases ignore lanes: while both run, the order is not kept.
export class OrderPushes1796740100000 extends ForwardMigration {
  override readonly statements = [createLanes, allowNumbers, indexLanes, indexDue];
}

const createLanes = `
  CREATE TABLE push.lanes (
    app_id      text NOT NULL,
    lease_owner text,
    lease_until timestamptz(3),
    CONSTRAINT lanes_pkey PRIMARY KEY (app_id)
  )`;

const allowNumbers = 'ALTER TABLE push.notifications ALTER COLUMN seq SET GENERATED BY DEFAULT';

const indexLanes = `
  CREATE INDEX notifications_lane_idx ON push.notifications (app_id, seq) WHERE status = 'in-queue'`;

const indexDue = `
  CREATE INDEX notifications_due_idx ON push.notifications (due_at, seq) WHERE status = 'scheduled'`;

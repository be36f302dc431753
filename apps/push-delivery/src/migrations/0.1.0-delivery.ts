import { ForwardMigration, indexesBesideTraffic } from '#database';

// Why: the standalone server keeps the queues of devices in its database; the services keep theirs in Redis.
export class CreateDeviceQueues1796200000000 extends ForwardMigration {
  override readonly statements = [
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
  ];
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

// Why: pushes reach devices through the push services of vendors (ADR 35). Devices of a vendor are rows of `vendor_batches`, written
// in the transaction that records the progress of their push. The foreign keys remove them with the push.
export class AddVendorChannels1796760000000 extends ForwardMigration {
  override readonly statements = [
    createCredentials,
    createBatches,
    indexWaitingBatches,
    indexBatchesOfPushes,
    createCounts,
    rememberInvalidTokens,
  ];
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

// Why: a channel that operators pause, or that answers of vendors make doubtful, stays so in every process and after a restart (ADR 35).
export class AddVendorLanes1796770100000 extends ForwardMigration {
  override readonly statements = [
    createVendorLanes,
    addKnownLanes,
    createDevelopmentDevices,
    createSenders,
    numberAnswers,
  ];
}

const createVendorLanes = `
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

// Why: drops have positions, so that a repeated report of drops to a device changes nothing.
export class NumberDrops1796820000000 extends ForwardMigration {
  override readonly statements = ['ALTER TABLE push.dropped_messages ADD reported_up_to bigint NOT NULL DEFAULT 0'];
}

// Why: a claim looks at each lane of a vendor, and batches that have expired end in lanes that are closed.
export class IndexVendorLanes1796830000000 extends ForwardMigration {
  /** A build beside the traffic cannot be part of a transaction. Each statement can be repeated after an interruption. */
  readonly transaction = false;

  override readonly statements = indexesBesideTraffic('push', LANE_INDEXES);
}

// Why: the console draws the connected devices over time, and the stores of sessions know only those of now.
export class CountConnected1796840000000 extends ForwardMigration {
  override readonly statements = [createConnectedCounts, indexOldConnectedCounts];
}

/** The application '' is the whole deployment, with a row for each quarter of an hour in which devices were counted. */
const createConnectedCounts = `
  CREATE TABLE push.connected_counts (
    app_id    text NOT NULL,
    at        timestamptz(3) NOT NULL,
    connected integer NOT NULL,
    CONSTRAINT connected_counts_pkey PRIMARY KEY (app_id, at)
  )`;
const indexOldConnectedCounts = `CREATE INDEX connected_counts_at_idx ON push.connected_counts (at)`;

// Why: a token of a vendor belongs to one installation, so each registration that names one looks for others.
export class FindVendorTokens1796850000000 extends ForwardMigration {
  readonly transaction = false;

  override readonly statements = indexesBesideTraffic('push', TOKEN_INDEX);
}

const LANE_INDEXES = {
  vendor_batches_lane_idx: 'vendor_batches (is_bulk, app_id, lane, next_at, id)',
  vendor_batches_expires_at_idx: 'vendor_batches (expires_at)',
};

const TOKEN_INDEX = {
  installations_registration_idx: `installations (app_id, lower(fields->>'vendor'), (fields->>'registrationId'))
    WHERE fields->>'registrationId' IS NOT NULL`,
};

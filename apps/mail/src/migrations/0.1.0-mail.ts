import { ForwardMigration, createInboxTable, indexesBesideTraffic } from '#database';

// Why: mails and text messages wait here until they are sent, and stay as a record; the order of events must not matter.
export class CreateDeliveries1796000000000 extends ForwardMigration {
  override readonly statements = [...createInboxTable('mail'), ...createDeliveries, createRecipients, createAllowances];
}

// The process that takes a row moves `next_attempt_at` to the end of its lease, and writes a `lease` of its own.
const createDeliveries = [
  `CREATE TABLE mail.deliveries (
     id              uuid NOT NULL,
     app_id          text NOT NULL,
     channel         text NOT NULL,
     kind            text NOT NULL,
     recipient       text NOT NULL,
     user_id         text,
     as_of           timestamptz(3),
     sealed_content  text,
     status          text NOT NULL DEFAULT 'queued',
     attempts        integer NOT NULL DEFAULT 0,
     last_error      text,
     lease           uuid,
     created_at      timestamptz(3) NOT NULL DEFAULT now(),
     expires_at      timestamptz(3) NOT NULL,
     give_up_at      timestamptz(3) NOT NULL,
     next_attempt_at timestamptz(3) NOT NULL DEFAULT now(),
     settled_at      timestamptz(3),
     CONSTRAINT deliveries_pkey PRIMARY KEY (id),
     CONSTRAINT deliveries_channel_check CHECK (channel IN ('mail', 'sms')),
     CONSTRAINT deliveries_status_check CHECK (status IN ('queued', 'sent', 'failed', 'dead', 'dropped')),
     CONSTRAINT deliveries_last_error_check CHECK (length(last_error) <= 500)
   )`,
  // Applications take turns: each one's rows are found without passing those of the others.
  `CREATE INDEX deliveries_waiting_idx ON mail.deliveries (channel, app_id, next_attempt_at, created_at)
    WHERE status IN ('queued', 'failed')`,
  `CREATE INDEX deliveries_owed_user_idx ON mail.deliveries (app_id, user_id)
    WHERE status IN ('queued', 'failed', 'dead')`,
  `CREATE INDEX deliveries_dead_idx ON mail.deliveries (created_at) WHERE status = 'dead'`,
  `CREATE INDEX deliveries_settled_at_idx ON mail.deliveries (settled_at) WHERE settled_at IS NOT NULL`,
  `CREATE INDEX deliveries_created_at_idx ON mail.deliveries (created_at)`,
  `CREATE INDEX deliveries_recipient_idx ON mail.deliveries (recipient, created_at)`,
];

const createRecipients = `
  CREATE TABLE mail.recipients (
    app_id     text NOT NULL,
    user_id    text NOT NULL,
    email      text,
    changed_at timestamptz(3) NOT NULL,
    noted_at   timestamptz(3) NOT NULL DEFAULT now(),
    CONSTRAINT recipients_pkey PRIMARY KEY (app_id, user_id)
  )`;

const createAllowances = `
  CREATE TABLE mail.allowances (
    app_id       text NOT NULL,
    window_start timestamptz(3) NOT NULL,
    used         bigint NOT NULL,
    CONSTRAINT allowances_pkey PRIMARY KEY (app_id, window_start)
  )`;

// Why: mails in an application's own words.
export class CreateTemplates1796000100000 extends ForwardMigration {
  override readonly statements = [createTemplates];
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

// Why: each application has a provider of text messages, whose secrets are sealed.
export class CreateTextMessageProviders1796000200000 extends ForwardMigration {
  override readonly statements = [createTextMessageProviders];
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

// Why: a message belongs to the trace of the request that it was asked for in, also while it waits.
export class AddDeliveryTraces1796300100000 extends ForwardMigration {
  override readonly statements = ['ALTER TABLE mail.deliveries ADD COLUMN traceparent text'];
}

// Why: operators see why each attempt at a message failed, and page through the messages of an application.
export class LogAttempts1796790000000 extends ForwardMigration {
  /** A build beside the traffic cannot be part of a transaction. Each statement can be repeated after an interruption. */
  readonly transaction = false;

  override readonly statements = [
    `ALTER TABLE mail.deliveries ADD COLUMN IF NOT EXISTS attempt_log jsonb DEFAULT '[]' NOT NULL`,
    ...indexesBesideTraffic('mail', { deliveries_application_idx: 'deliveries (app_id, created_at, id)' }),
  ];
}

// Why: metrics and the clean-up read only rows that they need, however many mails wait or are dead.
export class FindWaitingAndDead1796860000000 extends ForwardMigration {
  readonly transaction = false;

  override readonly statements = indexesBesideTraffic('mail', {
    deliveries_oldest_waiting_idx: "deliveries (channel, status, created_at) WHERE status IN ('queued', 'failed')",
    deliveries_dead_content_idx: "deliveries (expires_at) WHERE status = 'dead' AND sealed_content IS NOT NULL",
  });
}

// Why: what expires while it waits for a window or a server is dropped without reading what waits beside it.
export class FindExpiring1796880000000 extends ForwardMigration {
  readonly transaction = false;

  override readonly statements = indexesBesideTraffic('mail', {
    deliveries_expiring_idx: "deliveries (expires_at) WHERE status IN ('queued', 'failed')",
  });
}

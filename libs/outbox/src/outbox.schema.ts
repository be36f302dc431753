/** The tables, for the first migration of a service that publishes events. Frozen: later changes are migrations of their own. */
export function createOutboxTables(schema: string): string[] {
  return [
    `CREATE TABLE ${schema}.outbox (
       id           bigint GENERATED ALWAYS AS IDENTITY,
       message_id   uuid NOT NULL DEFAULT gen_random_uuid(),
       pattern      text NOT NULL,
       payload      jsonb NOT NULL,
       attempts     integer NOT NULL DEFAULT 0,
       available_at timestamptz NOT NULL DEFAULT now(),
       CONSTRAINT outbox_pkey PRIMARY KEY (id)
     )`,
    ...createInboxTable(schema),
  ];
}

/** What an event is a consequence of: the HTTP request, and the span that wrote it. */
export function addOutboxOrigin(schema: string): string {
  return `ALTER TABLE ${schema}.outbox ADD COLUMN request_id text, ADD COLUMN traceparent text`;
}

/** Which relay works, and until when (`OutboxLease`). Unlogged: what it holds is worth nothing after a crash. */
export function addOutboxLease(schema: string): string {
  return `CREATE UNLOGGED TABLE ${schema}.outbox_lease (
            id         smallint NOT NULL,
            holder     uuid NOT NULL,
            held_until timestamptz NOT NULL,
            CONSTRAINT outbox_lease_pkey PRIMARY KEY (id),
            CONSTRAINT outbox_lease_one_check CHECK (id = 1)
          )`;
}

/** The table of a service that only handles events. Frozen like the others. */
export function createInboxTable(schema: string): string[] {
  return [
    `CREATE TABLE ${schema}.inbox (
       message_id  uuid NOT NULL,
       received_at timestamptz NOT NULL DEFAULT now(),
       CONSTRAINT inbox_pkey PRIMARY KEY (message_id)
     )`,
    `CREATE INDEX inbox_received_at_idx ON ${schema}.inbox (received_at)`,
  ];
}

// Why: operators sign in to the console, and each of their acts is recorded before it is done.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateConsole1796790000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...createOperators, ...createSignIn, ...createAudit]) await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** `address` in lower case. `is_first`: created by the set-up link; the index admits one. No password hash: invited. */
const createOperators = [
  `CREATE TABLE console.operators (
     id            uuid NOT NULL DEFAULT gen_random_uuid(),
     name          text NOT NULL,
     address       text NOT NULL,
     password_hash text,
     is_owner      boolean NOT NULL DEFAULT false,
     is_first      boolean NOT NULL DEFAULT false,
     is_disabled   boolean NOT NULL DEFAULT false,
     language      text,
     time_zone     text,
     theme         text NOT NULL DEFAULT 'auto',
     created_at    timestamptz(3) NOT NULL DEFAULT now(),
     last_seen_at  timestamptz(3),
     CONSTRAINT operators_pkey PRIMARY KEY (id),
     CONSTRAINT operators_address_key UNIQUE (address)
   )`,
  `CREATE UNIQUE INDEX operators_first_key ON console.operators (is_first) WHERE is_first`,
  `CREATE TABLE console.grants (
     operator_id uuid NOT NULL,
     app_id      text NOT NULL,
     role        text NOT NULL,
     CONSTRAINT grants_pkey PRIMARY KEY (operator_id, app_id),
     CONSTRAINT grants_role_check CHECK (role IN ('developer', 'support', 'viewer')),
     CONSTRAINT grants_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES console.operators (id) ON DELETE CASCADE
   )`,
];

/** Tokens are stored as SHA-256: each has 32 random bytes. */
const createSignIn = [
  `CREATE TABLE console.sessions (
     id          uuid NOT NULL DEFAULT gen_random_uuid(),
     token_hash  bytea NOT NULL,
     operator_id uuid NOT NULL,
     password_tag bytea NOT NULL,
     created_at  timestamptz(3) NOT NULL DEFAULT now(),
     used_at     timestamptz(3) NOT NULL DEFAULT now(),
     ends_at     timestamptz(3) NOT NULL,
     proven_at   timestamptz(3),
     network     text NOT NULL,
     browser     text NOT NULL,
     CONSTRAINT sessions_pkey PRIMARY KEY (id),
     CONSTRAINT sessions_token_hash_key UNIQUE (token_hash),
     CONSTRAINT sessions_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES console.operators (id) ON DELETE CASCADE
   )`,
  `CREATE INDEX sessions_operator_id_idx ON console.sessions (operator_id)`,
  `CREATE INDEX sessions_ends_at_idx ON console.sessions (ends_at)`,
  `CREATE TABLE console.links (
     token_hash  bytea NOT NULL,
     kind        text NOT NULL,
     operator_id uuid,
     ends_at     timestamptz(3) NOT NULL,
     used_at     timestamptz(3),
     CONSTRAINT links_pkey PRIMARY KEY (token_hash),
     CONSTRAINT links_kind_check CHECK (kind IN ('setUp', 'invitation', 'recovery')),
     CONSTRAINT links_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES console.operators (id) ON DELETE CASCADE
   )`,
  `CREATE INDEX links_operator_id_idx ON console.links (operator_id)`,
  `CREATE TABLE console.attempts (
     key        text NOT NULL,
     times      timestamptz[] NOT NULL,
     changed_at timestamptz(3) NOT NULL DEFAULT now(),
     CONSTRAINT attempts_pkey PRIMARY KEY (key)
   )`,
  `CREATE INDEX attempts_changed_at_idx ON console.attempts (changed_at)`,
];

const createAudit = [
  `CREATE TABLE console.audit (
     id            uuid NOT NULL,
     begun_at      timestamptz(3) NOT NULL DEFAULT now(),
     ended_at      timestamptz(3),
     operator_id   uuid,
     operator_name text NOT NULL,
     way           text NOT NULL,
     network       text,
     app_id        text,
     action        text NOT NULL,
     target        text,
     change        jsonb NOT NULL,
     before        jsonb,
     outcome       text NOT NULL DEFAULT 'begun',
     error_name    text,
     request_id    text NOT NULL,
     CONSTRAINT audit_pkey PRIMARY KEY (id),
     CONSTRAINT audit_way_check CHECK (way IN ('console', 'cli')),
     CONSTRAINT audit_outcome_check CHECK (outcome IN ('begun', 'done', 'refused', 'failed', 'unknown'))
   )`,
  `CREATE INDEX audit_begun_at_idx ON console.audit (begun_at, id)`,
  `CREATE INDEX audit_operator_id_idx ON console.audit (operator_id, begun_at, id)`,
  `CREATE INDEX audit_app_id_idx ON console.audit (app_id, begun_at, id)`,
  `CREATE INDEX audit_target_idx ON console.audit (target, begun_at, id)`,
  `CREATE INDEX audit_open_idx ON console.audit (begun_at) WHERE outcome = 'begun'`,
  // An entry receives its outcome once, and is deleted at the earliest after 30 days (GATEPOST_CONSOLE_AUDIT_DAYS).
  `CREATE FUNCTION console.protect_audit() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF TG_OP = 'UPDATE' THEN
       IF OLD.outcome <> 'begun'
          OR (to_jsonb(NEW) - 'outcome' - 'ended_at' - 'error_name' - 'before' - 'target')
             <> (to_jsonb(OLD) - 'outcome' - 'ended_at' - 'error_name' - 'before' - 'target') THEN
         RAISE EXCEPTION 'an entry of the audit log does not change';
       END IF;
       RETURN NEW;
     END IF;
     IF TG_OP = 'DELETE' THEN
       IF OLD.begun_at > now() - interval '30 days' THEN
         RAISE EXCEPTION 'an entry of the audit log is kept for 30 days at least';
       END IF;
       RETURN OLD;
     END IF;
     RAISE EXCEPTION 'the audit log is not truncated';
   END $$`,
  `CREATE TRIGGER audit_protected BEFORE UPDATE OR DELETE ON console.audit
     FOR EACH ROW EXECUTE FUNCTION console.protect_audit()`,
  `CREATE TRIGGER audit_not_truncated BEFORE TRUNCATE ON console.audit
     FOR EACH STATEMENT EXECUTE FUNCTION console.protect_audit()`,
];

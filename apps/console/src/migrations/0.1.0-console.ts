import { ForwardMigration, indexesBesideTraffic } from '#database';

// Why: operators sign in to the console, and each of their acts is recorded before it is done.
export class CreateConsole1796790000000 extends ForwardMigration {
  override readonly statements = [...createOperators, ...createSignIn, ...createAudit];
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

// Why: a second factor makes a stolen password useless. Operators add one-time codes and passkeys; recovery codes replace a lost one.
export class AddSecondFactors1796800000000 extends ForwardMigration {
  override readonly statements = createFactors;
}

const operatorKey = (table: string) =>
  `CONSTRAINT ${table}_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES console.operators (id) ON DELETE CASCADE`;

/** `is_confirmed`: in use; new codes wait beside them for a first code. `last_step`: the number of the time step whose code was used last. `counter`: of the authenticator, 0 where it has none. */
const createFactors = [
  `CREATE TABLE console.one_time_codes (
     operator_id   uuid NOT NULL,
     is_confirmed  boolean NOT NULL,
     sealed_secret text NOT NULL,
     last_step     bigint,
     CONSTRAINT one_time_codes_pkey PRIMARY KEY (operator_id, is_confirmed),
     ${operatorKey('one_time_codes')}
   )`,
  `CREATE TABLE console.recovery_codes (
     operator_id uuid NOT NULL,
     code_hash   bytea NOT NULL,
     CONSTRAINT recovery_codes_pkey PRIMARY KEY (operator_id, code_hash),
     ${operatorKey('recovery_codes')}
   )`,
  `CREATE TABLE console.passkeys (
     id           text NOT NULL,
     operator_id  uuid NOT NULL,
     name         text NOT NULL,
     public_key   bytea NOT NULL,
     counter      bigint NOT NULL,
     transports   text[] NOT NULL,
     created_at   timestamptz(3) NOT NULL DEFAULT now(),
     last_used_at timestamptz(3),
     CONSTRAINT passkeys_pkey PRIMARY KEY (id),
     ${operatorKey('passkeys')}
   )`,
  `CREATE INDEX passkeys_operator_id_idx ON console.passkeys (operator_id)`,
  `CREATE TABLE console.challenges (
     challenge_hash bytea NOT NULL,
     operator_id    uuid,
     ends_at        timestamptz(3) NOT NULL,
     CONSTRAINT challenges_pkey PRIMARY KEY (challenge_hash),
     ${operatorKey('challenges')}
   )`,
  `CREATE INDEX challenges_ends_at_idx ON console.challenges (ends_at)`,
  `CREATE INDEX challenges_operator_id_idx ON console.challenges (operator_id)`,
];

// Why: operators sign in by an OpenID Connect issuer, which can give them their roles too.
export class AddOidc1796810000000 extends ForwardMigration {
  override readonly statements = [
    // Columns without a stored default rewrite nothing.
    `ALTER TABLE console.operators
      ADD COLUMN oidc_issuer text,
      ADD COLUMN oidc_subject text,
      ADD COLUMN grants_by_groups boolean NOT NULL DEFAULT false`,
    // Partial, so that it is no target of foreign keys: a change of these columns does not wait for rows that refer to the operator.
    `CREATE UNIQUE INDEX operators_oidc_key ON console.operators (oidc_issuer, oidc_subject)
      WHERE oidc_subject IS NOT NULL`,
  ];
}

function protectAudit(open: string): string {
  return `CREATE OR REPLACE FUNCTION console.protect_audit() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       IF TG_OP = 'UPDATE' THEN
         IF OLD.outcome <> 'begun'
            OR (OLD.operator_id IS NOT NULL
                AND (NEW.operator_id, NEW.operator_name) IS DISTINCT FROM (OLD.operator_id, OLD.operator_name))
            OR (to_jsonb(NEW) - '{${open}}'::text[]) <> (to_jsonb(OLD) - '{${open}}'::text[]) THEN
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
     END $$`;
}

// Why: a sign-in becomes known as an act of its operator when it succeeds: the entry receives the operator with its outcome.
export class NameSignedInOperators1796820000000 extends ForwardMigration {
  override readonly statements = [protectAudit('outcome,ended_at,error_name,before,target,operator_id,operator_name')];
}

// Why: an operator sends a push to devices at hand before it goes to others. `device_id`: the object id of an installation.
export class AddTestDevices1796830000000 extends ForwardMigration {
  override readonly statements = [
    `CREATE TABLE console.test_devices (
       operator_id uuid NOT NULL,
       app_id      text NOT NULL,
       device_id   text NOT NULL,
       marked_at   timestamptz(3) NOT NULL DEFAULT now(),
       CONSTRAINT test_devices_pkey PRIMARY KEY (operator_id, app_id, device_id),
       ${operatorKey('test_devices')}
     )`,
  ];
}

// Why: an act on several users or devices names each of them, which an index over the whole text neither finds nor always holds.
export class FindEachTarget1796840000000 extends ForwardMigration {
  override readonly statements = [
    `DROP INDEX console.audit_target_idx`,
    `CREATE INDEX audit_targets_idx ON console.audit USING gin (string_to_array(target, ' '))`,
  ];
}

// Why: an operator undoes an act later, in its history. The entry receives the call for it with the outcome.
export class UndoInHistory1796850000000 extends ForwardMigration {
  override readonly statements = [
    `ALTER TABLE console.audit ADD COLUMN undo jsonb`,
    protectAudit('outcome,ended_at,error_name,before,undo,target,operator_id,operator_name'),
  ];
}

// Why: operators open a filtered list by a name, and share it with those of the application.
export class AddSavedViews1796860000000 extends ForwardMigration {
  override readonly statements = [
    `CREATE TABLE console.saved_views (
       id          uuid NOT NULL DEFAULT gen_random_uuid(),
       operator_id uuid NOT NULL,
       app_id      text NOT NULL,
       page        text NOT NULL,
       name        text NOT NULL,
       search      jsonb NOT NULL,
       is_shared   boolean NOT NULL,
       CONSTRAINT saved_views_pkey PRIMARY KEY (id),
       CONSTRAINT saved_views_name_key UNIQUE (operator_id, app_id, page, name),
       ${operatorKey('saved_views')}
     )`,
    `CREATE INDEX saved_views_app_id_idx ON console.saved_views (app_id)`,
  ];
}

// Why: the audit log shows which acts were undone, by later acts that made the change of their undo.
export class FindUndoneActs1796870000000 extends ForwardMigration {
  readonly transaction = false;

  override readonly statements = indexesBesideTraffic('console', {
    audit_change_idx: `audit USING hash (change) WHERE outcome = 'done' AND change <> '{}'`,
  });
}

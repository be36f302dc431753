import { ForwardMigration, addOutboxLease, addOutboxOrigin } from '#database';

// Why: codes that were sent to phone numbers, how many messages a number got, and guesses at codes without their numbers.
export class CreateSmsCodes1795700200000 extends ForwardMigration {
  override readonly statements = [
    createCodes,
    indexCodesByHash,
    indexCodesByGuesses,
    indexCodesByExpiry,
    createNumberlessGuesses,
    createSmsAllowances,
    indexSmsAllowancesByExpiry,
  ];
}

/** `user_id` is empty where any holder of the number may use the code. The last two are for codes that may come without their number. */
const createCodes = `
  CREATE TABLE accounts.sms_codes (
    app_id                    text NOT NULL,
    purpose                   text NOT NULL,
    mobile_phone_number       text NOT NULL,
    user_id                   text NOT NULL,
    code_hash                 bytea NOT NULL,
    wrong_guesses             smallint NOT NULL DEFAULT 0,
    expires_at                timestamptz(3) NOT NULL,
    numberless_hash           bytea,
    numberless_guesses_before bigint,
    CONSTRAINT sms_codes_pkey PRIMARY KEY (app_id, purpose, mobile_phone_number, user_id),
    CONSTRAINT sms_codes_app_id_fkey FOREIGN KEY (app_id) REFERENCES accounts.applications (id)
  )`;

const indexCodesByHash = `
  CREATE INDEX sms_codes_numberless_hash_idx ON accounts.sms_codes (app_id, purpose, numberless_hash)
   WHERE numberless_hash IS NOT NULL`;
const indexCodesByGuesses = `
  CREATE INDEX sms_codes_numberless_guesses_idx ON accounts.sms_codes (app_id, purpose, numberless_guesses_before)
   WHERE numberless_hash IS NOT NULL`;
const indexCodesByExpiry = 'CREATE INDEX sms_codes_expires_at_idx ON accounts.sms_codes (expires_at)';

const createNumberlessGuesses = `
  CREATE TABLE accounts.sms_numberless_guesses (
    app_id  text NOT NULL,
    purpose text NOT NULL,
    wrong   bigint NOT NULL DEFAULT 0,
    CONSTRAINT sms_numberless_guesses_pkey PRIMARY KEY (app_id, purpose),
    CONSTRAINT sms_numberless_guesses_app_id_fkey FOREIGN KEY (app_id) REFERENCES accounts.applications (id)
  )`;

const createSmsAllowances = `
  CREATE TABLE accounts.sms_allowances (
    app_id              text NOT NULL,
    mobile_phone_number text NOT NULL,
    sent_at             timestamptz(3)[] NOT NULL,
    expires_at          timestamptz(3) NOT NULL,
    CONSTRAINT sms_allowances_pkey PRIMARY KEY (app_id, mobile_phone_number),
    CONSTRAINT sms_allowances_app_id_fkey FOREIGN KEY (app_id) REFERENCES accounts.applications (id)
  )`;
const indexSmsAllowancesByExpiry = 'CREATE INDEX sms_allowances_expires_at_idx ON accounts.sms_allowances (expires_at)';

// Why: a mailed link becomes invalid when its user, address or password changes, and a mailbox gets a limited number of mails.
export class CreateMailLinks1795950000000 extends ForwardMigration {
  override readonly statements = [countChanges, createMailAllowances, indexMailAllowancesByExpiry];
}

const countChanges = `
  ALTER TABLE accounts.users
    ADD COLUMN email_version    integer NOT NULL DEFAULT 0,
    ADD COLUMN password_version integer NOT NULL DEFAULT 0`;

const createMailAllowances = `
  CREATE TABLE accounts.mail_allowances (
    app_id     text NOT NULL,
    mailbox    text NOT NULL,
    sent_at    timestamptz(3)[] NOT NULL,
    expires_at timestamptz(3) NOT NULL,
    CONSTRAINT mail_allowances_pkey PRIMARY KEY (app_id, mailbox),
    CONSTRAINT mail_allowances_app_id_fkey FOREIGN KEY (app_id) REFERENCES accounts.applications (id)
  )`;
const indexMailAllowancesByExpiry =
  'CREATE INDEX mail_allowances_expires_at_idx ON accounts.mail_allowances (expires_at)';

// Why: the logs and traces of an event's handler name the request that caused it.
export class AddEventOrigins1796300000000 extends ForwardMigration {
  override readonly statements = [addOutboxOrigin('accounts')];
}

// Why: keys of applications and the deployment's secret are replaced while the old ones are still in use.
export class CreateRotations1796400000000 extends ForwardMigration {
  override readonly statements = [createOldKeys, createSecretRotations];
}

const createOldKeys = `
  CREATE TABLE accounts.old_application_keys (
    app_id         text NOT NULL,
    id             uuid NOT NULL DEFAULT gen_random_uuid(),
    kind           text NOT NULL,
    sealed_key     text NOT NULL,
    replaced_at    timestamptz(3) NOT NULL DEFAULT now(),
    accepted_until timestamptz(3),
    CONSTRAINT old_application_keys_pkey PRIMARY KEY (app_id, id),
    CONSTRAINT old_application_keys_kind_check CHECK (kind IN ('app', 'master')),
    CONSTRAINT old_application_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES accounts.applications (id)
  )`;

const createSecretRotations = `
  CREATE TABLE accounts.secret_rotations (
    key_id       text NOT NULL,
    completed_at timestamptz(3) NOT NULL DEFAULT now(),
    CONSTRAINT secret_rotations_pkey PRIMARY KEY (key_id)
  )`;

// Why: the relay publishes outside any transaction; the lock under which it works is a lease.
export class LeaseOutbox1796600000000 extends ForwardMigration {
  override readonly statements = [addOutboxLease('accounts')];
}

// Why: text messages cost the application money, whichever numbers a client requests codes for.
export class LimitTextMessages1796840000000 extends ForwardMigration {
  override readonly statements = [createApplicationSmsAllowances];
}

const createApplicationSmsAllowances = `
  CREATE TABLE accounts.application_sms_allowances (
    app_id  text NOT NULL,
    used    integer NOT NULL,
    ends_at timestamptz(3) NOT NULL,
    CONSTRAINT application_sms_allowances_pkey PRIMARY KEY (app_id),
    CONSTRAINT application_sms_allowances_app_id_fkey FOREIGN KEY (app_id) REFERENCES accounts.applications (id)
  )`;

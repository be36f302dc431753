// Why: codes that were sent to phone numbers, how many messages a number got, and guesses at codes without their numbers.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateSmsCodes1795700200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const statements = [
      createCodes,
      indexCodesByHash,
      indexCodesByGuesses,
      indexCodesByExpiry,
      createNumberlessGuesses,
      createAllowances,
      indexAllowancesByExpiry,
    ];
    for (const statement of statements) await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
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

/** Wrong codes that came without a number, since ever. */
const createNumberlessGuesses = `
  CREATE TABLE accounts.sms_numberless_guesses (
    app_id  text NOT NULL,
    purpose text NOT NULL,
    wrong   bigint NOT NULL DEFAULT 0,
    CONSTRAINT sms_numberless_guesses_pkey PRIMARY KEY (app_id, purpose),
    CONSTRAINT sms_numberless_guesses_app_id_fkey FOREIGN KEY (app_id) REFERENCES accounts.applications (id)
  )`;

/** When a number got its latest messages; it means nothing any more once the last of them is a day old. */
const createAllowances = `
  CREATE TABLE accounts.sms_allowances (
    app_id              text NOT NULL,
    mobile_phone_number text NOT NULL,
    sent_at             timestamptz(3)[] NOT NULL,
    expires_at          timestamptz(3) NOT NULL,
    CONSTRAINT sms_allowances_pkey PRIMARY KEY (app_id, mobile_phone_number),
    CONSTRAINT sms_allowances_app_id_fkey FOREIGN KEY (app_id) REFERENCES accounts.applications (id)
  )`;
const indexAllowancesByExpiry = 'CREATE INDEX sms_allowances_expires_at_idx ON accounts.sms_allowances (expires_at)';

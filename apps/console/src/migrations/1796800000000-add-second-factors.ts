// Why: a second factor makes a stolen password useless. Operators add one-time codes and passkeys; recovery codes replace a lost one.
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AddSecondFactors1796800000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of createFactors) await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
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

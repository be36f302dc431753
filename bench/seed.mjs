// Fills a database with users, so that queries have something to search.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';

/** How many users everyone has. */
export const SEEDED_USERS = 100_000;

/** Inserts users whose field `number` counts them; no index knows that field but the one of all fields. */
export async function seedUsers(databaseUrl, appId) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(
      `INSERT INTO accounts.users
         (app_id, object_id, username, session_token_hash, sealed_session_token, fields, created_at, updated_at)
       SELECT $1, lpad(to_hex(n), 24, '0'), 'bulk' || n, decode(md5(n::text), 'hex'), '',
              jsonb_build_object('number', n, 'group', n % 100, 'nickname', 'User ' || n), moment, moment
         FROM generate_series(1::bigint, $2) AS n, LATERAL (SELECT now() - n * interval '1 second' AS moment) AS times`,
      [appId, SEEDED_USERS],
    );
    await client.query('VACUUM ANALYZE accounts.users');
  } finally {
    await client.end();
  }
}

/** Where the database of a running standalone server listens, by its data folder. */
export function embeddedDatabaseUrl(dataFolder) {
  const password = encodeURIComponent(readFileSync(join(dataFolder, 'postgres-password'), 'utf8').trim());
  const [, , , , socketFolder] = readFileSync(join(dataFolder, 'postgres', 'postmaster.pid'), 'utf8').split('\n');
  return `postgres://gatepost:${password}@localhost/postgres?host=${encodeURIComponent(socketFolder)}`;
}

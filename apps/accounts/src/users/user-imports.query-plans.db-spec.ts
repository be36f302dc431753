import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database, Queryable } from '#database';
import { claimsOf } from '#objects';
import type { QueryDatabase } from '#objects/store';
import { Sealer } from '#security';
import { queryPlan } from '#testing';
import { newAccountsDatabase } from '../../test/stored.js';
import { IdentitiesRepository } from './identities.repository.js';
import { UsersRepository } from './users.repository.js';

const KNOWN = 'known';
const GROWING = 'growing';
const ROWS = 20_000;

let database: Database;
let users: UsersRepository;
let identities: IdentitiesRepository;

/** An import into a second application, of which the statistics know nothing yet. */
beforeAll(async () => {
  ({ database } = await newAccountsDatabase(2));
  users = new UsersRepository(database, {} as QueryDatabase, new Sealer('a secret of thirty-two characters, or more'));
  identities = new IdentitiesRepository(database);
  await database.query(
    `INSERT INTO accounts.applications (id, name, sealed_app_key, sealed_master_key)
     SELECT id, id, id, id FROM unnest($1::text[]) AS id`,
    [[KNOWN, GROWING]],
  );
  for (const table of ['users', 'identities'])
    await database.query(`ALTER TABLE accounts.${table} SET (autovacuum_enabled = off)`);
  await fill(KNOWN);
  await database.query('ANALYZE accounts.users, accounts.identities');
  await fill(GROWING);
});
afterAll(() => database.close());

async function fill(app: string): Promise<void> {
  await database.query(
    `INSERT INTO accounts.users (app_id, object_id, username, email, session_token_hash, sealed_session_token, created_at, updated_at)
     SELECT $1, 'id' || n, 'name' || n, n || '@example.com', decode(md5($1 || n), 'hex'), '', now(), now() FROM generate_series(1, $2::int) AS n`,
    [app, ROWS],
  );
  await database.query(
    `INSERT INTO accounts.identities (app_id, platform, uid, user_id, is_verified)
     SELECT $1, 'weixin', 'uid' || n, 'id' || n, true FROM generate_series(1, $2::int) AS n`,
    [app, ROWS],
  );
}

const object = {
  columns: { username: 'name7', email: '7@example.com' },
  identities: [{ platform: 'weixin', uid: 'u' }],
};
const claims = claimsOf('_User', object);
const only = (field: string) => claims.filter((claim) => claim.field === field);

it.each<[string, (within: Queryable) => Promise<unknown>]>([
  ['users_pkey', (within) => users.findEach(within, GROWING, ['id7'])],
  ['users_username_key', (within) => users.ownersOf(within, GROWING, only('username'))],
  ['users_email_key', (within) => users.ownersOf(within, GROWING, only('email'))],
  ['users_session_token_key', (within) => users.tokenOwners(within, GROWING, ['ab'])],
  ['identities_pkey', (within) => identities.ownersOf(within, GROWING, only('authData.weixin'))],
])('looks values of an import up by %s while the statistics are outdated', async (index, run) => {
  expect((await queryPlan(database, run)).indexes).toEqual([index]);
});

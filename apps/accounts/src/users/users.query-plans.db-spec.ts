import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Database, Queryable } from '#database';
import { compileCount, compileFind, parseOrder, parseWhere, type QueryScope, userClass } from '#objects';
import type { QueryDatabase } from '#objects/store';
import { Sealer } from '#security';
import { queryPlan } from '#testing';
import { newAccountsDatabase, storeApplication } from '../../test/stored.js';
import { UsersRepository } from './users.repository.js';

/** docs/adr/0016-queries.md has the figures. */
const USERS = 100_000;
/** A scan of all rows reads thousands. */
const MAX_PAGES = 1_500;
/** Nicks that come after the statistics. A value that the sample holds by chance counts as one that many have, and changes the plan. */
const LATECOMERS = Array.from({ length: 50 }, (_, n) => `late ${n}`);

const app = 'plans';
let database: Database;
let users: UsersRepository;

beforeAll(async () => {
  ({ database } = await newAccountsDatabase(4, { statementTimeoutMs: 60_000 }));
  users = new UsersRepository(database, {} as QueryDatabase, new Sealer('s'.repeat(32)));
  await storeApplication(database, app);
  await database.query(
    `INSERT INTO accounts.users (app_id, object_id, username, email, session_token_hash, sealed_session_token, acl, fields, created_at, updated_at)
     SELECT $1, lpad(to_hex(n), 24, '0'), 'user' || n, 'user' || n || '@example.com', int8send(n), '',
            CASE n % 2 WHEN 0 THEN '{"*":{"read":true}}'::jsonb END,
            jsonb_build_object(
              'level', n % 1000, 'isNew', n % 2 = 0, 'nick', 'nick ' || n, 'tags', jsonb_build_array('all', 't' || n % 500),
              'address', jsonb_build_object('city', 'city ' || n % 1000, 'street', 'street ' || n)),
            timestamptz '2026-01-01' + n * interval '1 second', now()
       FROM generate_series(1::bigint, $2) AS n`,
    [app, USERS],
  );
  await database.query('ANALYZE accounts.users');
  await database.query(
    `UPDATE accounts.users SET fields = fields || jsonb_build_object('nick', late.nick)
       FROM unnest($1::text[]) WITH ORDINALITY AS late (nick, n)
      WHERE object_id = lpad(to_hex(late.n * 700), 24, '0')`,
    [LATECOMERS],
  );
  await database.query('VACUUM accounts.users');
}, 120_000);
afterAll(() => database.close());

async function expectFewPages(index: string, run: (within: Queryable) => Promise<unknown>): Promise<void> {
  const { indexes, pages } = await queryPlan(database, run);
  expect(indexes).toContain(index);
  expect(pages).toBeLessThan(MAX_PAGES);
}

type Case = [what: string, index: string, where: object, order?: string];

describe.each<[string, QueryScope['grantees']]>([
  ['the master key', 'master'],
  ['a user', ['*', 'someone', 'role:staff']],
])(`among ${USERS} users, a query by %s`, (_, grantees) => {
  const queryClass = userClass.queryClass({ hideContact: false });
  const scope: QueryScope = { appId: app, grantees, classOf: () => queryClass };
  const find = (where: object, order = '', limit = 100) => {
    const query = compileFind({ where: parseWhere(where), order: parseOrder(order), limit }, queryClass, scope);
    return (within: Queryable) => users.list(query, within);
  };

  it.each<Case>([
    ['a custom field', 'users_fields_idx', { level: 77 }],
    ['a custom value that no user has', 'users_fields_idx', { level: -1 }],
    ['a custom text', 'users_fields_idx', { nick: 'nick 77777' }],
    ['an item of a list', 'users_fields_idx', { tags: 't77' }],
    ['a path', 'users_fields_idx', { 'address.city': 'city 77' }],
    ['a deep path that no user has', 'users_fields_idx', { 'a.b.c.d.e.f.g.h': 1 }],
    ['one of many values', 'users_fields_idx', { nick: { $in: LATECOMERS } }],
    ['an object', 'users_fields_idx', { address: { city: 'city 77', street: 'street 77' } }],
    ['one of several values', 'users_fields_idx', { level: { $in: [1, 2, 3] } }],
    ['two custom fields', 'users_fields_idx', { level: 77, tags: 't77' }],
    [
      'either of two custom fields',
      'users_fields_idx',
      { $or: [{ nick: 'nick 5' }, { 'address.street': 'street 6' }] },
    ],
    ['a custom field, in an order of its own', 'users_fields_idx', { level: 77 }, '-nick'],
    ['the name', 'users_username_key', { username: 'user77777' }],
    ['one of several names', 'users_username_key', { username: { $in: ['user7', 'user77777', 'unknown'] } }],
    ['the beginning of a name', 'users_username_key', { username: { $regex: '^\\Quser7777\\E' } }],
    ['names from one on, in their order', 'users_username_key', { username: { $gte: 'user5' } }, 'username'],
    ['the e-mail address', 'users_email_key', { email: 'user7@example.com' }],
    ['ids', 'users_pkey', { objectId: { $in: ['000000000000000000000007', '000000000000000000000008'] } }],
    ['nothing', 'users_created_at_idx', {}],
    ['nothing, oldest first', 'users_created_at_idx', {}, 'createdAt'],
    ['nothing, newest first', 'users_created_at_idx', {}, '-createdAt'],
    ['a custom field that half of them have so', 'users_created_at_idx', { isNew: true }],
    ['what a custom field is not', 'users_created_at_idx', { level: { $ne: 5 } }],
    ['a range of a custom field', 'users_created_at_idx', { level: { $gt: 900 } }],
    ['a time', 'users_created_at_idx', { createdAt: { $gt: '2026-01-01T20:00:00Z', $lt: '2026-01-01T20:01:00Z' } }],
  ])('asking for %s is answered by %s in few pages', async (_what, index, where, order) => {
    await expectFewPages(index, find(where, order));
  });

  it('orders by no sorting', async () => {
    for (const order of ['createdAt', '-createdAt', 'username', '-username']) {
      const { nodeTypes } = await queryPlan(database, find({}, order));
      expect(nodeTypes).not.toContain('Sort');
    }
  });

  it('counts by the index', async () => {
    const condition = compileCount(parseWhere({ level: 77 }), queryClass, scope);
    await expectFewPages('users_fields_idx', (within) => users.count(condition, within));
  });
});

describe('a lookup that a client writes', () => {
  const queryClass = userClass.queryClass({ hideContact: false });
  const scope: QueryScope = { appId: app, grantees: 'master', classOf: () => queryClass };

  it.each([
    ['users_username_key', { username: 'user77777' }],
    ['users_email_key', { email: 'user7@example.com' }],
    ['users_mobile_phone_number_key', { mobilePhoneNumber: '+8613912345678' }],
    ['users_pkey', { objectId: '000000000000000000000007' }],
  ])('is answered by %s whatever the value', async (index, where) => {
    const find = compileFind({ where: parseWhere(where), order: [], limit: 100 }, queryClass, scope);
    expect(find.isLookUp).toBe(true);
    const plan = await database.transaction(async (tx) => {
      let prepared: { sql: string; values: readonly unknown[] } | undefined;
      const catching: Queryable = {
        query: (sql, values = []) => {
          prepared = { sql, values };
          return Promise.resolve([]);
        },
      };
      await users.list(find, catching);
      await tx.query('SET LOCAL plan_cache_mode = force_generic_plan');
      await tx.query(`PREPARE look_up AS ${prepared?.sql ?? ''}`);
      const literals = (prepared?.values ?? []).map((value) => `'${String(value)}'`).join(', ');
      const rows = await tx.query(`EXPLAIN (FORMAT JSON) EXECUTE look_up (${literals})`);
      await tx.query('DEALLOCATE look_up');
      return JSON.stringify(rows);
    });
    expect(plan).toContain(`"Index Name":"${index}"`);
    expect(plan).not.toContain('Seq Scan');
  });

  it('uses the connections of look-ups once its text is frequent', async () => {
    const lookUp = vi.spyOn(database, 'lookUp');
    const names: unknown[] = [];
    for (let run = 0; run < 30; run += 1) {
      const where = parseWhere({ username: `user${run + 1}` });
      const [user] = await users.list(compileFind({ where, order: [], limit: 100 }, queryClass, scope));
      names.push(user?.username);
    }
    expect(names).toEqual(Array.from({ length: 30 }, (_, run) => `user${run + 1}`));
    expect(lookUp).toHaveBeenCalled();
    lookUp.mockRestore();
  });
});

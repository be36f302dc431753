import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { BoundedCount } from '#contracts';
import type { Database, Queryable } from '#database';
import { textSearchDefinition, userClass } from '#objects';
import { QueryDatabase } from '#objects/store';
import { queryPlan } from '#testing';
import { newAccountsDatabase, storeApplication } from '../../test/stored.js';
import type { UserSearch } from './user-search.conditions.js';
import { UserSearchRepository } from './user-search.repository.js';
import { UserSearchController } from './users.controller.js';

const USERS = 60_000;
const FIRST_NAMES = ['ada', 'grace', 'linus', 'Margaret', 'ken', 'barbara', 'dennis', 'frances', 'alan', 'radia'];
/** A scan of all users reads 1,200. */
const MAX_PAGES = 1_000;

const APP = 'shop';
const SMALL = 'small';
const HIDING = 'hiding';
let database: Database;
let queries: QueryDatabase;
let search: UserSearchRepository;

const asked = (changes: Partial<UserSearch> = {}): UserSearch => ({
  appId: APP,
  in: 'any',
  mode: 'prefix',
  order: 'newest',
  limit: 50,
  filters: {},
  ...changes,
});

async function addUsers(appId: string, rows: readonly object[]): Promise<void> {
  await database.query(
    `INSERT INTO accounts.users (app_id, object_id, username, email, email_verified, mobile_phone_number, mobile_phone_verified, password_hash,
            session_token_hash, sealed_session_token, fields, created_at, updated_at)
     SELECT $1, id, username, email, "emailVerified", phone, phone IS NOT NULL, password, sha256(($1 || id)::bytea), '', COALESCE(fields, '{}'), COALESCE("createdAt", now()), now()
       FROM jsonb_to_recordset($2) AS given (id text, username text, email text, "emailVerified" boolean, phone text, password text, fields jsonb, "createdAt" timestamptz)`,
    [appId, JSON.stringify(rows)],
  );
}

beforeAll(async () => {
  const created = await newAccountsDatabase(8, { statementTimeoutMs: 60_000 });
  database = created.database;
  queries = new QueryDatabase(created.options);
  search = new UserSearchRepository(queries);
  for (const app of [APP, SMALL, HIDING]) await storeApplication(database, app);
  await database.query(
    `INSERT INTO accounts.users (app_id, object_id, username, email, email_verified, mobile_phone_number, session_token_hash, sealed_session_token, created_at, updated_at)
     SELECT $1, lpad(to_hex(n * 7919), 24, '0'), ($2::text[])[1 + n % 10] || n, ($2::text[])[1 + n % 7] || n || '@example.com', n % 3 = 0,
            CASE WHEN n % 2 = 0 THEN '+86138' || lpad(n::text, 8, '0') END, int8send(n), '', timestamptz '2026-01-01' + n * interval '1 second', now()
       FROM generate_series(1::bigint, $3) AS n`,
    [APP, FIRST_NAMES, USERS],
  );
  await addUsers(SMALL, [
    { id: 'aaaaaaaaaaaaaaaaaaaaaaaa', username: 'Ada', email: 'ada@Example.com', emailVerified: true, password: 'h' },
    { id: 'bbbbbbbbbbbbbbbbbbbbbbbb', username: 'ADAM', email: null, phone: '+8613900000001', fields: { level: 3 } },
    { id: 'cccccccccccccccccccccccc', username: 'bo_b%', email: 'ada.l@lovelace.org', emailVerified: false },
    { id: 'dddddddddddddddddddddddd', username: '小明', email: 'xm@example.cn', createdAt: '2026-01-01T00:00:00Z' },
    { id: 'eeeeeeeeeeeeeeeeeeeeeeee', username: '小\u{10ffff}', email: null },
    { id: 'ffffffffffffffffffffffff', username: 'boob', email: null, phone: '+4915100000001' },
  ]);
  await database.query(
    `INSERT INTO accounts.identities (app_id, platform, uid, user_id, is_verified)
     VALUES ($1, 'weixin', 'w1', 'aaaaaaaaaaaaaaaaaaaaaaaa', true), ($1, 'lc_apple', 'a1', 'aaaaaaaaaaaaaaaaaaaaaaaa', true)`,
    [SMALL],
  );
  await database.query('VACUUM ANALYZE accounts.users');
}, 120_000);
afterAll(() => Promise.all([database.close(), queries.close()]));

const names = async (changes: Partial<UserSearch>) =>
  (await search.find(asked({ appId: SMALL, order: 'username', ...changes }))).users.map(({ username }) => username);

describe('a search of users', () => {
  it.each<[string, Partial<UserSearch>, string[]]>([
    ['everything', {}, ['Ada', 'ADAM', 'bo_b%', 'boob', '小明', '小\u{10ffff}']],
    ['names and addresses in any case', { text: 'aDa' }, ['Ada', 'ADAM', 'bo_b%']],
    ['names', { text: 'ada', in: 'username' }, ['Ada', 'ADAM']],
    ['addresses', { text: 'ADA@e', in: 'email' }, ['Ada']],
    ['names of other scripts', { text: '小' }, ['小明', '小\u{10ffff}']],
    ['a name that ends with the last code point', { text: '小\u{10ffff}' }, ['小\u{10ffff}']],
    ['no number that has letters', { text: 'bob', in: 'phone' }, []],
    ['no part of a number that has letters', { text: 'bob', in: 'phone', mode: 'contains' }, []],
    ['a number without its prefix', { text: '139 0000' }, ['ADAM']],
    ['a number with it', { text: '+86139', in: 'phone' }, ['ADAM']],
    ['a foreign number without +', { text: '49151' }, ['boob']],
    ['an id', { text: 'bbbb', in: 'id' }, ['ADAM']],
    ['eight characters of an id', { text: 'bbbbbbbb' }, ['ADAM']],
    ['few characters of an id, anywhere', { text: 'bbbb' }, []],
    ['a part of a name', { text: 'DAM', mode: 'contains' }, ['ADAM']],
    ['characters that LIKE gives a meaning', { text: 'o_b%', mode: 'contains' }, ['bo_b%']],
    ['a part of an address', { text: 'lovelace', mode: 'contains' }, ['bo_b%']],
    ['a part of a number', { text: '0000001', mode: 'contains' }, ['ADAM', 'boob']],
    ['a text that no user can have', { text: 'a\u0000b' }, []],
    ['a quote', { text: `'; DROP TABLE accounts.users; --` }, []],
    ['verified addresses', { filters: { emailVerified: true } }, ['Ada']],
    ['addresses that are not verified', { text: 'ada', filters: { emailVerified: false } }, ['ADAM', 'bo_b%']],
    ['verified numbers', { filters: { phoneVerified: true } }, ['ADAM', 'boob']],
    ['a platform', { filters: { platform: 'weixin' } }, ['Ada']],
    ['passwords', { filters: { hasPassword: true } }, ['Ada']],
    ['a range of times', { filters: { createdTo: '2026-01-01T00:00:01Z' } }, ['小明']],
    ['an empty range', { filters: { createdFrom: '2026-01-01T00:00:01Z', createdTo: '2026-01-01T00:00:02Z' } }, []],
    ['ids of locked users', { lockedIds: ['cccccccccccccccccccccccc', '~17'] }, ['bo_b%']],
    ['a custom field', { text: 'ada', where: { level: { $gt: 2 } } }, ['ADAM']],
  ])('finds %s', async (_, changes, expected) => {
    expect(await names(changes)).toEqual(expected);
  });

  it('finds no username that is an address or a number, where the operator does not see it', async () => {
    const shown = ['ann', 'anna', '@ann', 'ann-2024', '+123456', '123456 7'];
    const hidden = ['ann@example.com', 'ann\n@x', 'a@', '+8613800001234', '1234567'];
    await addUsers(
      HIDING,
      [...shown, ...hidden].map((username, n) => ({ id: `hiding${n}`, username })),
    );
    const found = async (changes: Partial<UserSearch>) =>
      (await names({ appId: HIDING, in: 'username', withoutContactNames: true, ...changes })).toSorted();
    expect(await found({ text: 'ann' })).toEqual(['ann', 'ann-2024', 'anna']);
    expect(await found({ text: 'ANN', mode: 'contains' })).toEqual(['@ann', 'ann', 'ann-2024', 'anna']);
    expect(await found({ text: 'example', mode: 'contains' })).toEqual([]);
    expect(await found({ text: '+' })).toEqual(['+123456']);
    expect(await found({ text: '1' })).toEqual(['123456 7']);
    expect(await found({})).toHaveLength(shown.length + hidden.length);
    expect(await found({ text: 'hiding', in: 'id' })).toHaveLength(shown.length + hidden.length);
    expect(await names({ appId: HIDING, text: 'ann', in: 'username' })).toContain('ann@example.com');
    const { total } = await search.find(
      asked({ appId: HIDING, text: 'ann', in: 'username', withoutContactNames: true, limit: 1 }),
    );
    expect(total).toEqual({ value: 3, isExact: true });
  });

  it('shows platforms and whether there is a password', async () => {
    const { users } = await search.find(
      asked({ appId: SMALL, text: 'Ada', in: 'username', limit: 1, order: 'username' }),
    );
    expect(users[0]).toMatchObject({ username: 'Ada', platforms: ['lc_apple', 'weixin'], hasPassword: true });
    expect(JSON.stringify(users)).not.toContain('session');
  });

  it.each(['newest', 'oldest', 'username'] as const)('pages through all matches once, %s first', async (order) => {
    for (const changes of [{ text: 'ada1', in: 'username' }, { text: 'GRACE' }] as const) {
      const seen: string[] = [];
      let after: UserSearch['after'] = undefined;
      do {
        const { users }: Awaited<ReturnType<typeof search.find>> = await search.find(
          asked({ ...changes, order, after, limit: 200 }),
        );
        const page = users.slice(0, 200);
        seen.push(...page.map(({ objectId }) => objectId));
        const last = users.length > 200 ? page.at(-1) : undefined;
        after = last && {
          key: order === 'username' ? last.lowerUsername : last.createdAt.toISOString(),
          objectId: last.objectId,
        };
      } while (after !== undefined);
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.length).toBe((await search.count(asked(changes), USERS)).value);
    }
  });

  it('finds the same by the prepared plan of a prefix', async () => {
    const unprepared: Queryable = { query: (sql, parameters) => queries.query(sql, parameters) };
    // A statement gets its name after twenty uses.
    for (let use = 0; use < 25; use += 1) await search.find(asked({ text: `nothing${use}` }));
    for (const changes of [{ text: 'ada7' }, { text: 'GRACE1' }, { text: '138' }, { text: 'ada', appId: SMALL }])
      expect(await search.find(asked(changes))).toEqual(await search.find(asked(changes), unprepared));
    const [{ plans } = { plans: 0 }] = await queries.indexed.query<{ plans: number }>(
      `SELECT count(*)::int AS plans FROM pg_prepared_statements WHERE statement LIKE 'WITH by0%' AND generic_plans > 0`,
    );
    expect(plans).toBeGreaterThan(0);
  });

  it('counts the users of a large application once in ten minutes', async () => {
    const fresh = new UserSearchRepository(queries);
    const query = vi.spyOn(queries, 'query');
    for (let use = 0; use < 3; use += 1) expect((await fresh.count(asked())).isExact).toBe(false);
    const statements = query.mock.calls.map(([sql]) => sql);
    query.mockRestore();
    expect(statements.filter((sql) => sql.includes('OFFSET'))).toHaveLength(1);
    expect(statements.filter((sql) => sql.includes('count(*)'))).toEqual([]);
  });

  it('finds users by their ids, also with another filter', async () => {
    const ids = ['aaaaaaaaaaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbbbbbbbbbb', 'gone'];
    expect(await names({ filters: { ids } })).toEqual(['Ada', 'ADAM']);
    expect(await names({ filters: { ids, phoneVerified: true } })).toEqual(['ADAM']);
    expect(await names({ filters: { ids: [] } })).toEqual([]);
  });

  it('loads the custom fields of as many users as fit into 8 MiB, of one at least', async () => {
    const large = { text: 'x'.repeat(5_000_000) };
    const ids = ['l1', 'l2', 'l3'];
    await addUsers(SMALL, [
      { id: 'l1', username: 'large one', fields: { text: 'x'.repeat(9_000_000) } },
      { id: 'l2', username: 'large two', fields: large },
      { id: 'l3', username: 'large three', fields: { level: 1 } },
    ]);
    const found = async (wanted: string[]) => [...(await search.fieldsOf(SMALL, wanted)).keys()].toSorted();
    expect(await found(ids)).toEqual(['l1']);
    expect(await found(['gone', ...ids])).toEqual(['l1']);
    expect(await found(['l3', 'l2'])).toEqual(['l2', 'l3']);
    expect(await found(['l2', 'l3', 'l1'])).toEqual(['l2', 'l3']);
    expect((await search.fieldsOf(SMALL, ['l3'])).get('l3')).toEqual({ level: 1 });
    expect(await search.fieldsOf(APP, ids)).toEqual(new Map());

    const none = {} as never;
    const applications = { assertKnown: () => Promise.resolve() } as never;
    const lockouts = { locksOf: () => Promise.resolve(new Map()) } as never;
    const controller = new UserSearchController(search, none, applications, lockouts, none, none, none, none);
    const pages: (string | undefined)[][] = [];
    let after: UserSearch['after'];
    do {
      const { users, next } = await controller.find(
        asked({ appId: SMALL, text: 'large', order: 'username', withFields: true, after }),
      );
      pages.push(users.map(({ username, fields }) => `${username}: ${Object.keys(fields ?? {}).join()}`));
      after = next ?? undefined;
    } while (after !== undefined);
    expect(pages).toEqual([['large one: text'], ['large three: level', 'large two: text']]);
    await database.query(`DELETE FROM accounts.users WHERE object_id = ANY ($1)`, [ids]);
  });

  it('counts exactly up to 10,000 matches, and estimates beyond', async () => {
    const some = await search.find(asked({ text: 'ada1', in: 'username' }));
    const [row] = await database.query<{ count: number }>(
      `SELECT count(*)::int FROM accounts.users WHERE app_id = $1 AND username LIKE 'ada1%'`,
      [APP],
    );
    expect(some.total).toEqual({ value: row?.count, isExact: true });
    expect((await search.find(asked({ text: '138', in: 'phone' }))).total?.isExact).toBe(false);
    const near = (count: BoundedCount, real: number) => {
      expect(count.isExact).toBe(false);
      expect(Math.abs(count.value - real) / real).toBeLessThan(0.2);
    };
    near(await search.count(asked()), USERS);
    near(await search.count(asked({ text: '138', in: 'phone' })), USERS / 2);
    expect(await search.count(asked({ text: 'nowhere' }))).toEqual({ value: 0, isExact: true });
  });
});

describe(`among ${USERS} users, PostgreSQL`, () => {
  const plan = (changes: Partial<UserSearch>) => queryPlan(database, (within: Queryable) => find(changes, within));
  const find = (changes: Partial<UserSearch>, within: Queryable) => search.find(asked(changes), within);

  it.each<[string, Partial<UserSearch>, string]>([
    ['a name', { text: 'ADA77', in: 'username' }, 'users_lower_username_idx'],
    ['an address', { text: 'Ada77', in: 'email' }, 'users_lower_email_idx'],
    ['a number', { text: '1380000', in: 'phone' }, 'users_mobile_phone_number_key'],
    ['an id', { text: '00000000000000000077', in: 'id' }, 'users_pkey'],
    ['nothing found', { text: 'zzz' }, 'users_lower_email_idx'],
    ['all, newest first', {}, 'users_created_at_idx'],
    ['all, by name', { order: 'username' }, 'users_lower_username_idx'],
    ['a page deep inside', { after: { key: '2026-01-01T08:00:00Z', objectId: 'x' } }, 'users_created_at_idx'],
    [
      'a page of names deep inside',
      { order: 'username', after: { key: 'grace3', objectId: 'x' } },
      'users_lower_username_idx',
    ],
  ])('searches %s by an index in few pages', async (_, changes, index) => {
    const { indexes, pages, nodeTypes } = await plan(changes);
    expect(indexes).toContain(index);
    expect(nodeTypes).not.toContain('Seq Scan');
    expect(pages).toBeLessThan(MAX_PAGES);
  });

  it('collects the matches of a prefix from the indexes alone', async () => {
    const { nodeTypes, indexes } = await plan({ text: 'ada7' });
    expect(indexes).toEqual(expect.arrayContaining(['users_lower_username_idx', 'users_lower_email_idx']));
    expect(nodeTypes.filter((type) => type === 'Index Only Scan').length).toBeGreaterThanOrEqual(2);
    expect(nodeTypes).not.toContain('Bitmap Heap Scan');
  });

  it('collects the names that are no addresses from their index alone', async () => {
    const { nodeTypes, indexes, pages } = await plan({
      text: 'ada7',
      in: 'username',
      withoutContactNames: true,
    });
    expect(indexes).toContain('users_lower_username_idx');
    expect(nodeTypes).toContain('Index Only Scan');
    expect(nodeTypes).not.toContain('Bitmap Heap Scan');
    expect(pages).toBeLessThan(MAX_PAGES);
  });

  /** Records the statements that it passes on. */
  const recorder = () => {
    const statements: { sql: string; values: readonly unknown[] | undefined }[] = [];
    const within: Queryable = {
      query: (sql, values) => {
        statements.push({ sql, values });
        return queries.query(sql, values);
      },
    };
    return { within, statements };
  };

  it('reads the few users behind the place of a last page, not all matches', async () => {
    const { within, statements } = recorder();
    const after = { key: '2026-01-01T00:02:00Z', objectId: 'x' };
    const { users } = await search.find(asked({ text: 'ada', after }), within);
    const [row] = await database.query<{ count: number }>(
      `SELECT count(*)::int FROM accounts.users
        WHERE app_id = $1 AND created_at <= $2 AND (username LIKE 'ada%' OR email LIKE 'ada%')`,
      [APP, after.key],
    );
    expect(users).toHaveLength(row?.count ?? 0);
    expect(users.length).toBeLessThan(asked().limit);
    expect(statements.filter(({ sql }) => sql.includes(String(Number.MAX_SAFE_INTEGER)))).toEqual([]);
  });

  it.each(['newest', 'oldest', 'username'] as const)('stops at a page of a frequent part, %s first', async (order) => {
    const { within, statements } = recorder();
    await search.find(asked({ text: 'example', in: 'email', mode: 'contains', order }), within);
    expect(statements).toHaveLength(1);
    const [{ sql, values } = { sql: '', values: [] }] = statements;
    const rows = await database.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`, values);
    const text = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(text).toContain('Subquery Scan');
    expect(text).not.toMatch(/Sort Key: .*(?:username|created_at|key)/);
  });

  it('counts the matches of a small application, whatever the statistics of all say', async () => {
    const many = vi.spyOn(search, 'plannedRows').mockResolvedValue(1_000_000);
    const asks = { appId: SMALL, text: 'ada', limit: 1 };
    for (const mode of ['prefix', 'contains'] as const)
      expect((await search.find(asked({ ...asks, mode }))).total).toEqual({ value: 3, isExact: true });
    many.mockRestore();
  });

  it('reads the linked accounts of a page, not those of the application', async () => {
    await database.query(
      `INSERT INTO accounts.identities (app_id, platform, uid, user_id, is_verified)
       SELECT app_id, 'weixin', 'w' || object_id, object_id, true FROM accounts.users WHERE app_id = $1`,
      [APP],
    );
    await database.query('VACUUM ANALYZE accounts.identities');
    const { users } = await search.find(asked());
    expect(users.every(({ platforms }) => platforms.join() === 'weixin')).toBe(true);
    expect((await plan({})).pages).toBeLessThan(MAX_PAGES);
  });

  it('searches a part of a text by the trigram index of the application alone', async () => {
    await database.query('CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA accounts');
    const fields = ['username', 'email', 'mobilePhoneNumber'];
    const definition = textSearchDefinition({ fields }, APP, userClass.queryClass(), 'accounts.gin_trgm_ops');
    await database.query(`CREATE INDEX search_index ON accounts.users ${definition}`);
    await database.query('ANALYZE accounts.users');
    const { indexes, pages, nodeTypes } = await plan({ text: 'a7777', mode: 'contains' });
    expect(indexes).toContain('search_index');
    expect(nodeTypes).not.toContain('Seq Scan');
    expect(pages).toBeLessThan(MAX_PAGES);
    expect((await plan({ text: 'ada', mode: 'contains', appId: SMALL })).indexes).not.toContain('search_index');
  });

  it('reads a part of most texts in the order of the search, page by page, and not by the trigram index', async () => {
    const frequent = { text: '@', in: 'email', mode: 'contains' } as const;
    expect((await plan(frequent)).indexes).toContain('users_created_at_idx');
    expect((await plan(frequent)).indexes).not.toContain('search_index');
    for (const order of ['newest', 'oldest', 'username'] as const) {
      const ids: string[] = [];
      let after: UserSearch['after'];
      for (let page = 0; page < 3; page += 1) {
        const { users, total } = await search.find(asked({ ...frequent, order, after }));
        expect(total?.isExact).toBe(false);
        ids.push(...users.slice(0, -1).map(({ objectId }) => objectId));
        const last = users.at(-2);
        if (last !== undefined) {
          const key = order === 'username' ? last.lowerUsername : last.createdAt.toISOString();
          after = { key, objectId: last.objectId };
        }
      }
      const [key, direction] =
        order === 'username' ? ['lower(username)', 'ASC'] : ['created_at', order === 'newest' ? 'DESC' : 'ASC'];
      const rows = await database.query<{ id: string }>(
        `SELECT object_id AS id FROM accounts.users WHERE app_id = $1 AND email IS NOT NULL
          ORDER BY ${key} ${direction}, object_id ${direction} LIMIT $2`,
        [APP, ids.length],
      );
      expect(ids).toEqual(rows.map(({ id }) => id));
    }
  });

  it.each(['prefix', 'contains'] as const)('finds users once whose name is their address, by %s', async (mode) => {
    const rows = Array.from({ length: 3_000 }, (_, n) => {
      const address = `twin${n}@example.org`;
      return { id: `twin${n}`, username: address, email: address };
    });
    if (mode === 'prefix') await addUsers(SMALL, rows);
    const { users, total } = await search.find(asked({ appId: SMALL, text: 'twin', mode }));
    expect([total, users.length]).toEqual([{ value: 3_000, isExact: true }, 51]);
    if (mode === 'contains') await database.query(`DELETE FROM accounts.users WHERE object_id LIKE 'twin%'`);
  });

  it('collects the matches of a part that are all far from the place', async () => {
    // Only users of the second sixth have them: names end with their number.
    const far = asked({ text: 'a1', in: 'username', mode: 'contains' });
    const { users, total } = await search.find(far);
    expect(total).toEqual(await search.count(far, USERS));
    expect([total?.isExact, (total?.value ?? 0) > 2_000, users.length]).toEqual([true, true, 51]);
    expect(users[0]?.username).toBe('radia19999');
  });

  it('finds the few matches of a frequent part that are far from the place', async () => {
    // All of these users are older than those that are read first.
    const [{ first } = { first: new Date() }] = await database.query<{ first: Date }>(
      'SELECT min(created_at) AS first FROM accounts.users WHERE app_id = $1',
      [APP],
    );
    await addUsers(APP, [{ id: 'far', username: 'far@away', createdAt: new Date(first.getTime() - 60_000) }]);
    const asks = { text: '@', in: 'username', mode: 'contains' } as const;
    const many = vi.spyOn(search, 'plannedRows').mockResolvedValue(1_000_000);
    expect((await search.find(asked(asks))).users.map(({ username }) => username)).toEqual(['far@away']);
    const filtered = {
      ...asks,
      text: 'a',
      where: { username: { $ne: 'ada' } },
      filters: { emailVerified: true },
      limit: 5,
    };
    expect((await search.find(asked(filtered))).users).toHaveLength(6);
    many.mockRestore();
  });
});

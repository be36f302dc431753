import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Database } from '#database';
import { compileCount, compileFind, parseOrder, parseWhere, type QueryScope, userClass } from '#objects';
import { QueryDatabase } from '#objects/store';
import { Sealer } from '#security';
import { unique } from '#testing';
import { newAccountsDatabase, storeApplication, userRow } from '../../test/stored.js';
import { INTERNAL_COLUMNS, type UserRow } from './user.rules.js';
import { UsersRepository } from './users.repository.js';

let database: Database;
let queries: QueryDatabase;
let users: UsersRepository;

beforeAll(async () => {
  const created = await newAccountsDatabase(10);
  database = created.database;
  queries = new QueryDatabase(created.options);
  users = new UsersRepository(database, queries, new Sealer('s'.repeat(32)));
});
afterAll(() => Promise.all([database.close(), queries.close()]));

const queryClass = userClass.queryClass({ hideContact: false });
const scopeOf = (appId: string): QueryScope => ({ appId, grantees: 'master', classOf: () => queryClass });
const list = (appId: string, query: Parameters<typeof compileFind>[0]) =>
  users.list(compileFind(query, queryClass, scopeOf(appId)));
const count = (appId: string, where: unknown) =>
  users.count(compileCount(parseWhere(where), queryClass, scopeOf(appId)));

const row = (changes: Partial<UserRow> = {}) => userRow({ passwordHash: 'bcrypt-sha256:hash', ...changes });

describe('users in PostgreSQL', () => {
  let app: string;
  const insert = async (user: UserRow, into = app) => {
    await database.transaction((tx) => users.insert(tx, into, user));
    return user;
  };

  beforeEach(async () => {
    app = await storeApplication(database);
  });

  it('come back as they were stored', async () => {
    const user = await insert(
      row({
        email: 'a@b.co',
        emailVerified: false,
        mobilePhoneNumber: '+861',
        mobilePhoneVerified: true,
        passwordHash: null,
        acl: { '*': { read: true } },
        fields: { text: 'ä😀', list: [1, null, { a: [] }], big: 9_007_199_254_740_991 },
      }),
    );
    expect(await users.find(app, user.objectId)).toEqual(user);
    expect(await users.findByIdentifier(app, 'username', user.username)).toEqual(user);
    expect(await users.findByIdentifier(app, 'email', 'a@b.co')).toEqual(user);
    expect(await users.findByIdentifier(app, 'mobilePhoneNumber', '+861')).toEqual(user);
  });

  it('come without their internal columns to an answer', async () => {
    const user = await insert(
      row({
        identities: new Map([['weixin', { uid: 'u', isVerified: false, entry: { openid: 'u' } }]]),
        fields: { level: 1 },
      }),
    );
    const visible = Object.fromEntries(
      Object.entries(user).filter(([column]) => !(INTERNAL_COLUMNS as readonly string[]).includes(column)),
    );
    expect(await users.findVisible(app, user.objectId)).toEqual(visible);
    expect(await users.findBySessionToken(app, [user.sessionTokenHash])).toEqual(visible);
    expect(await users.findBySessionToken(app, [Buffer.of(1), user.sessionTokenHash])).toEqual(visible);
  });

  it.each([
    ['username', 'USERNAME_TAKEN'],
    ['email', 'EMAIL_TAKEN'],
    ['mobilePhoneNumber', 'PHONE_TAKEN'],
  ] as const)('have a %s of their own', async (field, errorName) => {
    await insert(row({ [field]: 'the same' }));
    await expect(insert(row({ [field]: 'the same' }))).rejects.toMatchObject({ errorName });
    const other = await insert(row({ [field]: 'The same' }));
    const update = database.transaction((tx) => users.update(tx, app, { ...other, [field]: 'the same' }));
    await expect(update).rejects.toMatchObject({ errorName });
  });

  it('of one application are unknown to another, and may have the same names', async () => {
    const [other, user] = [await storeApplication(database), await insert(row({ email: 'a@b.co' }))];
    await insert(user, other);
    await database.transaction((tx) => users.remove(tx, other, [user.objectId]));
    expect(await users.find(other, user.objectId)).toBeUndefined();
    expect(await users.find(app, user.objectId)).toEqual(user);
    expect(await users.findBySessionToken(other, [user.sessionTokenHash])).toBeUndefined();
    expect(await list(other, { where: parseWhere({}), order: [] })).toEqual([]);
    expect(await count(other, {})).toBe(0);
  });

  it('may be many without e-mail address and phone number', async () => {
    await Promise.all(Array.from({ length: 5 }, () => insert(row())));
    expect(await count(app, { email: null })).toBe(5);
  });

  it('are updated in all that may change, and in nothing else', async () => {
    const user = await insert(row());
    const changed = { ...row(), objectId: user.objectId, email: 'n@e.ww', fields: { a: 1 }, updatedAt: new Date() };
    await database.transaction((tx) => users.update(tx, app, changed));
    expect(await users.find(app, user.objectId)).toEqual({ ...changed, createdAt: user.createdAt });
  });

  it('are written without a lock by one of many concurrent readers, and by none after another change', async () => {
    const { objectId } = await insert(row());
    const { user, rowVersion } = (await users.findVersion(app, objectId))!;
    const write = (writer: number) =>
      users.updateVersion(app, { rowVersion, user: { ...user, fields: { writer }, acl: { '*': { read: true } } } });
    const outcomes = await Promise.all(Array.from({ length: 10 }, (_, writer) => write(writer)));
    expect(outcomes.filter((isWritten) => isWritten)).toHaveLength(1);
    const written: UserRow = { ...user, fields: { writer: outcomes.indexOf(true) }, acl: { '*': { read: true } } };
    expect(await users.find(app, objectId)).toEqual(written);
    const read = (await users.findVersion(app, objectId))!;
    await database.transaction((tx) => users.update(tx, app, { ...written, email: 'b@c.de' }));
    expect(await users.updateVersion(app, { ...read, user: { ...written, fields: {} } })).toBe(false);
    expect(await users.find(app, objectId)).toEqual({ ...written, email: 'b@c.de' });
  });

  it('are locked for others until the transaction ends', async () => {
    const user = await insert(row({ fields: { count: 0 } }));
    await Promise.all(
      Array.from({ length: 8 }, () =>
        database.transaction(async (tx) => {
          const current = await users.lock(tx, app, user.objectId);
          await users.update(tx, app, { ...current!, fields: { count: Number(current?.fields['count']) + 1 } });
        }),
      ),
    );
    expect((await users.find(app, user.objectId))?.fields).toEqual({ count: 8 });
  });

  it('get another hash of the same password only while they have that password', async () => {
    const user = await insert(row());
    await database.transaction((tx) => users.rehash(tx, app, user, 'new'));
    await database.transaction((tx) => users.rehash(tx, app, user, 'too late'));
    expect((await users.find(app, user.objectId))?.passwordHash).toBe('new');
  });

  it.each([undefined, 'level', '-level,email', '-createdAt'])(
    'are looked up by username in the order %s',
    async (order) => {
      const user = await insert(row({ fields: { level: 1 } }));
      const where = parseWhere({ username: user.username });
      const found = (skip: number) => list(app, { where, order: parseOrder(order), limit: 10, skip });
      expect(await found(0)).toMatchObject([{ objectId: user.objectId, fields: { level: 1 } }]);
      expect(await found(1)).toEqual([]);
    },
  );

  it('are listed in pages that neither overlap nor leave gaps', async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => insert(row({ fields: { same: 1 } }))));
    const pages = await Promise.all(
      [0, 3, 6, 9].map((skip) =>
        list(app, { where: parseWhere({ same: 1 }), order: parseOrder('same,-createdAt'), limit: 3, skip }),
      ),
    );
    const ids = pages.flat().map(({ objectId }) => objectId);
    const sorted = all.map(({ objectId }) => objectId).sort();
    expect(ids).toEqual(sorted.reverse());
  });

  it.each([
    ['email', ['', 'a@x.org', 'b@x.org']],
    ['-email', ['b@x.org', 'a@x.org', '']],
  ])('ordered by %s, those without come as the least', async (order, emails) => {
    const group = unique('group');
    for (const email of ['b@x.org', null, 'a@x.org'])
      await insert(row({ email: email === null ? null : `${group}-${email}`, fields: { group } }));
    const found = await list(app, { where: parseWhere({ group }), order: parseOrder(order) });
    expect(found.map(({ email }) => email ?? '')).toEqual(emails.map((email) => email && `${group}-${email}`));
  });

  it('with a field among many are found by an index', async () => {
    await database.query(
      `INSERT INTO accounts.users (app_id, object_id, username, session_token_hash, sealed_session_token, fields, created_at, updated_at)
       SELECT $1, lpad(to_hex(n), 24, '0'), 'bulk' || n, int8send(n), '', jsonb_build_object('number', n), now(), now()
         FROM generate_series(1::bigint, 20000) AS n`,
      [app],
    );
    await database.query('ANALYZE accounts.users');
    const plan = await database.query<Record<string, string>>(
      `EXPLAIN SELECT 1 FROM accounts.users WHERE app_id = '${app}' AND fields @> '{"number": 77}'`,
    );
    expect(JSON.stringify(plan)).toContain('users_fields_idx');
    const found = await list(app, { where: parseWhere({ number: 77 }), order: [] });
    expect(found.map(({ username }) => username)).toEqual(['bulk77']);
  });
});

describe('the migrations of accounts', () => {
  it('name every constraint and index by hand', async () => {
    const named = await database.query<{ name: string }>(
      `SELECT conname AS name FROM pg_constraint WHERE connamespace = 'accounts'::regnamespace AND contype IN ('p', 'u', 'f', 'c')
       UNION SELECT indexname FROM pg_indexes WHERE schemaname = 'accounts'`,
    );
    const ours = named.map(({ name }) => name).filter((name) => !name.startsWith('PK_'));
    expect(ours.length).toBeGreaterThan(5);
    for (const name of ours) expect(name).toMatch(/^[a-z_]+_(pkey|key|fkey|idx|check)$/);
  });

  it('begin every unique index of users with the application', async () => {
    const indexes = await database.query<{ definition: string }>(
      `SELECT indexdef AS definition FROM pg_indexes WHERE schemaname = 'accounts' AND tablename = 'users' AND indexdef LIKE 'CREATE UNIQUE%'`,
    );
    expect(indexes.length).toBeGreaterThanOrEqual(5);
    for (const { definition } of indexes) expect(definition).toMatch(/\(app_id, /);
  });
});

describe('users by their identities', () => {
  const named = (names: readonly string[]) => names.map((uid) => ({ platform: 'weixin', uid }));

  it.each([1, 2, 40])('are found by one statement for %d identities', async (asked) => {
    const appId = await storeApplication(database);
    const user = row();
    await users.insert(database, appId, user);
    const uids = Array.from({ length: asked }, (_, index) => `uid ${index}`);
    await database.query(
      `INSERT INTO accounts.identities (app_id, user_id, platform, uid, is_verified) VALUES ($1, $2, 'weixin', $3, true)`,
      [appId, user.objectId, uids.at(-1)],
    );
    const query = vi.spyOn(database, 'query');
    const lookUp = vi.spyOn(database, 'lookUp');
    try {
      const found = await users.findByIdentities(appId, [...named(uids), ...named(uids.slice(1))]);
      expect(found).toMatchObject([{ ...named(uids).at(-1), isVerified: true, user: { objectId: user.objectId } }]);
      expect(query.mock.calls.length + lookUp.mock.calls.length).toBe(1);
      expect(await users.findByIdentities(await storeApplication(database), named(uids))).toEqual([]);
    } finally {
      vi.restoreAllMocks();
    }
  });
});

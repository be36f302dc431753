import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ImportObjectsRequest, ImportVerdict, JsonObject } from '#contracts';
import type { Database } from '#database';
import { appError } from '#errors';
import type { RpcClient } from '#messaging';
import { userClass } from '#objects';
import { ObjectImports, type QueryDatabase, StoredClasses } from '#objects/store';
import { Metrics } from '#observability';
import { Sealer } from '#security';
import { PasswordHasher } from '#security/passwords';
import { ImportRun } from '../../../cli/src/import/import-run.js';
import { exported, Verdicts } from '../../../cli/test/exports.js';
import { newAccountsDatabase, storeApplication, userRow } from '../../test/stored.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { IdentitiesRepository } from './identities.repository.js';
import { UserImports } from './user-imports.js';
import type { UserRow } from './user.rules.js';
import { UsersRepository } from './users.repository.js';

const LIMIT_BYTES = 1_000;
/** So small that most batches have several parts. */
const PART_SIZE = 2;
const MINUTE_MS = 60_000;
const CREATED = Date.parse('2020-01-01T00:00:00.000Z');
const at = (minute: number) => new Date(CREATED + minute * MINUTE_MS).toISOString();
const HASH = 'tPgez79nTsL63aY6nmuin7Cps3Hg1L5TqM17SPNM+u1QcBIVHwGpf/RY9ME7UZ5+Pfb5w7Kdz5WuHP4JLlsj/w==';
const OTHER_HASH = 'P4PvBg5kdsvpIK40uAJF5tAVH6BmAZ+gUCBEw2Iw06kHr10xmhLO0daQNhcKDH3P8+PnW97jaxPowjaVq9/Ocw==';

const sealer = new Sealer('a secret of thirty-two characters, or more');
const sessions = new SessionTokens(sealer);
const hasher = new PasswordHasher({ passwordCost: 4, passwordQueueLimit: 100, passwordConcurrency: 1 }, new Metrics());
let database: Database;
let users: UsersRepository;
let imports: ObjectImports;
let app: string;

beforeAll(async () => {
  ({ database } = await newAccountsDatabase(10));
  users = new UsersRepository(database, {} as QueryDatabase, sealer);
  imports = importsWith(sealer);
});
afterAll(async () => {
  await database.close();
  await hasher.onApplicationShutdown();
});
const newApp = async () => {
  app = await storeApplication(database);
};
beforeEach(newApp);

/** The imports of a process with these secrets. */
function importsWith(secrets: Sealer): ObjectImports {
  const classes = new StoredClasses();
  const identities = new IdentitiesRepository(database);
  const objects = new UsersRepository(database, {} as QueryDatabase, secrets);
  const rules = new UserImports(objects, identities, new SessionTokens(secrets), hasher, secrets);
  classes.register({ objectClass: userClass, objects, writes: {} as never, imports: rules });
  return new ObjectImports(classes, database, LIMIT_BYTES, PART_SIZE);
}

/** A row of an export: `minute` is its last change. */
const row = (objectId: string, minute: number, more: JsonObject = {}): JsonObject => ({
  ...{ objectId, username: objectId, createdAt: at(0), updatedAt: at(minute), ...more },
});

interface RunOptions {
  readonly isPreview?: boolean;
  /** The largest batch that a message can hold. */
  readonly batchSize?: number;
  readonly wrapPasswords?: boolean;
  readonly of?: ObjectImports;
}

/** Imports rows as the command line does; the importer is called without a broker. */
async function runImport(rows: readonly JsonObject[], options: RunOptions = {}): Promise<ImportVerdict[]> {
  const { isPreview = false, batchSize = 500, wrapPasswords = false, of = imports } = options;
  const call = (_: unknown, request: ImportObjectsRequest) =>
    request.objects.length > batchSize ? Promise.reject(appError('OBJECT_TOO_LARGE')) : of.import(request);
  const verdicts = new Verdicts(undefined);
  const run = new ImportRun({ call } as unknown as RpcClient, { appId: app, isPreview, wrapPasswords }, verdicts);
  await run.importObjects('_User', exported(rows));
  return verdicts.all;
}

const outcomes = (verdicts: readonly ImportVerdict[]) =>
  verdicts.map(({ outcome, notes }) => [outcome, ...notes.map(({ field, by }) => `${field}:${by ?? ''}`)].join(' '));
const imported = async (rows: readonly JsonObject[], options: RunOptions = {}) =>
  outcomes(await runImport(rows, options));
const stored = async (objectId: string): Promise<UserRow> => {
  const user = await users.find(app, objectId);
  if (user === undefined) throw new Error(`there is no user ${objectId}`);
  return user;
};
const emailsOf = async (...ids: string[]) => Promise.all(ids.map(async (id) => (await stored(id)).email));
const SIZES = [1, 2, 500];

describe('an import of users', () => {
  it('keeps times, and causes no event, however often it runs', async () => {
    const rows = [
      row('a', 5, { email: 'a@b.co', emailVerified: false, sessionToken: 'ta', password: HASH, salt: 's' }),
    ];
    expect(await imported(rows)).toEqual(['imported']);
    const before = await stored('a');
    expect([before.createdAt.toISOString(), before.updatedAt.toISOString()]).toEqual([at(0), at(5)]);
    expect([sessions.reveal(before), before.emailVerified]).toEqual(['ta', false]);
    expect(before.passwordHash).not.toContain(HASH);
    expect(await imported(rows)).toEqual(['unchanged']);
    expect(await stored('a')).toEqual(before);
    expect(await database.query('SELECT FROM accounts.outbox')).toEqual([]);
  });

  it('replaces an older user, keeps a newer one, and refuses another one of the same id', async () => {
    await imported([row('a', 5, { color: 'red', sessionToken: 'ta' })]);
    expect(await imported([row('a', 6, { color: 'blue' })])).toEqual(['imported']);
    expect(await imported([row('a', 4)])).toEqual(['kept_newer']);
    expect(await imported([row('a', 9, { createdAt: at(1) })])).toEqual(['refused objectId:a']);
    for (const minute of [5, 6, 7])
      expect(await imported([row('x', minute, { createdAt: null })])).toEqual(['imported_without createdAt:']);
    expect((await stored('x')).createdAt.toISOString()).toBe(at(5));
    const { fields, sessionTokenHash } = await stored('a');
    expect([fields, sessionTokenHash]).toEqual([{ color: 'blue' }, sessions.columnsOf('ta', 'a').sessionTokenHash]);
  });

  it('has PostgreSQL count the new rows, so that foreign keys find users by their id', async () => {
    const estimates = () =>
      database.query<{ name: string; rows: number }>(
        `SELECT relname AS name, reltuples::int AS rows FROM pg_class
          WHERE oid IN ('accounts.users'::regclass, 'accounts.identities'::regclass) ORDER BY relname`,
      );
    await database.query('TRUNCATE accounts.users CASCADE');
    expect(await estimates()).toEqual([
      { name: 'identities', rows: -1 },
      { name: 'users', rows: -1 },
    ]);
    await imported(Array.from({ length: 200 }, (_, n) => row(`u${n}`, 1, { authData: { qq: { openid: `${n}` } } })));
    // Renewed after 100 rows, and then after each fourfold number.
    for (const { rows } of await estimates()) expect(rows).toBeGreaterThanOrEqual(100);
  });

  it('does not take a login for a change, and never puts an imported hash back over that of a login', async () => {
    await imported([row('a', 5, { password: HASH, salt: 's', authData: { qq: { openid: 'o' } } })]);
    const before = await stored('a');
    await database.transaction((tx) => users.rehash(tx, app, before, 'bcrypt-sha256:of a login'));
    await users.recordLogin(app, before, new Date(CREATED + 99 * MINUTE_MS));
    const rows = [row('a', 5, { password: HASH, salt: 's' })];
    expect(await imported(rows)).toEqual(['unchanged']);
    expect(await imported([row('a', 7, { password: HASH, salt: 's', color: 'red' })])).toEqual(['imported']);
    const after = await stored('a');
    expect([after.passwordHash, after.fields]).toEqual(['bcrypt-sha256:of a login', { color: 'red' }]);
    expect(after.updatedAt.getTime()).toBeGreaterThan(CREATED + 99 * MINUTE_MS);
    expect(await imported([row('a', 7), row('a', 6)])).toEqual(['unchanged', 'unchanged']);
    expect(await imported([row('a', 8, { password: OTHER_HASH, salt: 's' })])).toEqual(['imported']);
    const changed = await stored('a');
    expect(changed.passwordHash).toMatch(/^imported:/);
    expect(changed.passwordVersion).toBe(after.passwordVersion + 1);
  });

  it('completes a user by a later export of the same version, which has the password and the token', async () => {
    await imported([row('a', 5), row('b', 5)]);
    await users.recordLogin(app, await stored('b'), new Date(CREATED + 99 * MINUTE_MS));
    const { sealedSessionToken } = await stored('b');
    expect(sessions.reveal(await stored('b')), 'in the form that docs/api.md promises').toMatch(/^[0-9a-z]{25}$/);
    const rows = ['a', 'b'].map((id) => row(id, 5, { password: HASH, salt: 's', sessionToken: `t${id}` }));
    for (const isPreview of [true, false])
      expect(await imported(rows, { isPreview })).toEqual(['imported', 'imported sessionToken:']);
    const [a, b] = [await stored('a'), await stored('b')];
    expect([a.passwordHash, b.passwordHash]).toEqual([expect.stringMatching(/^imported:/), expect.any(String)]);
    expect(sessions.reveal(a)).toBe('ta');
    expect(b.sealedSessionToken, 'a client may hold the token since the login').toBe(sealedSessionToken);
    expect(await imported(rows)).toEqual(['unchanged', 'unchanged']);
    const repeated = [row('a', 5), row('a', 5, { password: HASH, salt: 's' })];
    expect(await imported(repeated)).toEqual(['unchanged', 'unchanged']);
    expect(await stored('a')).toEqual(a);
  });

  it('replaces a password and a token that it has kept from an earlier version by those of the own version', async () => {
    const old = row('a', 5, { password: HASH, salt: 's', sessionToken: 'old' });
    const [scan, last] = [row('a', 6), row('a', 6, { password: OTHER_HASH, salt: 's', sessionToken: 'new' })];
    await imported([old, scan]);
    const kept = await stored('a');
    await database.transaction((tx) => users.rehash(tx, app, kept, 'bcrypt-sha256:of a login'));
    await users.recordLogin(app, kept, new Date(CREATED + 99 * MINUTE_MS));
    const rows = [last, row('heir', 1, { sessionToken: 'old' })];
    for (const isPreview of [true, false])
      expect(await imported(rows, { isPreview })).toEqual(['imported', 'imported']);
    const a = await stored('a');
    expect([sessions.reveal(a), a.passwordVersion]).toEqual(['new', kept.passwordVersion + 1]);
    expect(a.passwordHash).toMatch(/^imported:/);
    expect(await imported([old, scan, last])).toEqual(['unchanged', 'unchanged', 'unchanged']);
  });

  it('never undoes a password or a token that was changed here', async () => {
    const old = { password: HASH, salt: 's', sessionToken: 'old' };
    await imported([row('a', 5, old)]);
    const own = { ...(await stored('a')), ...sessions.columnsOf('own', 'a'), passwordHash: 'own' };
    await database.transaction((tx) => users.update(tx, app, { ...own, updatedAt: new Date(at(7)) }));
    const changed = await stored('a');
    const rows = [row('a', 6), row('a', 6, { password: OTHER_HASH, salt: 's', sessionToken: 'new' })];
    expect([await imported(rows), await stored('a')]).toEqual([['kept_newer', 'kept_newer'], changed]);
    // The fields have changed at the other server since, the password has not.
    for (const [minute, credentials] of [{}, { password: HASH, salt: 's' }, old].entries())
      expect(await imported([row('a', 8 + minute, credentials)])).toEqual(['imported']);
    const after = await stored('a');
    expect([after.passwordHash, sessions.reveal(after)]).toEqual(['own', 'own']);
    // A token that is new there has replaced the old one there, too.
    await imported([row('a', 11, { ...old, sessionToken: 'newer' })]);
    expect(sessions.reveal(await stored('a'))).toBe('newer');
  });

  it('keeps a proof of a login where it completes the user', async () => {
    const qq = { authData: { qq: { openid: 'o' } } };
    await imported([row('a', 5, qq)]);
    const proven = new Map([
      ['qq', { kind: 'qq' as const, uid: 'o', isVerified: true, entry: { openid: 'o', new: 1 } }],
    ]);
    await database.transaction(async (tx) => {
      const before = await stored('a');
      await users.update(tx, app, { ...before, identities: proven, lastChangeAt: before.updatedAt });
    });
    expect(await imported([row('a', 5, { ...qq, password: HASH, salt: 's' })])).toEqual(['imported']);
    const { identities, passwordHash } = await stored('a');
    expect(identities?.get('qq')).toMatchObject({ isVerified: true, entry: { new: 1 } });
    expect(passwordHash).not.toBeNull();
  });

  it('completes a user by a value that was taken before', async () => {
    const ada = { email: 'a@b.co' };
    await imported([row('ada', 5, ada)]);
    const bob = row('bob', 5, ada);
    expect(await imported([bob])).toEqual(['imported_without email:ada']);
    expect(await imported([bob])).toEqual(['unchanged email:ada']);
    await imported([row('ada', 6)]);
    expect(await imported([bob])).toEqual(['imported']);
    expect(await emailsOf('ada', 'bob')).toEqual([null, 'a@b.co']);
    expect(await imported([bob, row('ada', 6)])).toEqual(['unchanged', 'unchanged']);
  });

  it('reads an export with passwords after one without, or before it', async () => {
    const [scanned, exportedRow] = [row('a', 5), row('a', 5, { password: HASH, salt: 's', sessionToken: 'ta' })];
    for (const rows of [
      [scanned, exportedRow],
      [exportedRow, scanned],
    ]) {
      await database.query('TRUNCATE accounts.users CASCADE');
      await imported(rows);
      const a = await stored('a');
      expect([a.passwordHash !== null, sessions.reveal(a)]).toEqual([true, 'ta']);
    }
  });

  it('finds a session token that an accepted secret has hashed', async () => {
    await imported([row('a', 5, { sessionToken: 'ta' })]);
    const rotated = new Sealer('another secret of thirty-two characters', [
      'a secret of thirty-two characters, or more',
    ]);
    const of = importsWith(rotated);
    expect(await imported([row('b', 5, { sessionToken: 'ta' })], { of })).toEqual(['imported_without sessionToken:a']);
  });

  it('wraps passwords where it is asked to, once', async () => {
    const rows = [row('a', 5, { password: HASH, salt: 's' })];
    await imported(rows, { wrapPasswords: true });
    const { passwordHash } = await stored('a');
    expect(passwordHash).toMatch(/^bcrypt-leancloud:/);
    expect(passwordHash).not.toContain(HASH);
    await imported([row('a', 6, { password: HASH, salt: 's' })], { wrapPasswords: true });
    expect((await stored('a')).passwordHash).toBe(passwordHash);
  });

  it.each(SIZES)('gives what two rows want to the first one, in batches of %i', async (batchSize) => {
    const rows = [
      row('a', 1, {
        email: 'x@b.co',
        mobilePhoneNumber: '13800000002',
        sessionToken: 't',
        authData: { qq: { openid: 'o' } },
      }),
      row('b', 1, { email: 'x@b.co', emailVerified: true }),
      row('c', 1, { mobilePhoneNumber: '+8613800000002' }),
      row('d', 1, { sessionToken: 't' }),
      row('e', 1, { authData: { qq: { openid: 'o' }, weibo: { uid: 'w' } } }),
      row('f', 1, { username: 'a' }),
      row('g', 1, { email: 'X@b.co' }),
    ];
    const expected = [
      'imported',
      'imported_without email:a',
      'imported_without mobilePhoneNumber:a',
      'imported_without sessionToken:a',
      'imported_without authData.qq:a',
      'refused username:a',
      'imported',
    ];
    expect(await imported(rows, { isPreview: true, batchSize })).toEqual(expected);
    expect(await imported(rows, { batchSize })).toEqual(expected);
    const [b, d, e] = [await stored('b'), await stored('d'), await stored('e')];
    expect([b.email, b.emailVerified, [...(e.identities ?? [])].length]).toEqual([null, null, 1]);
    expect(sessions.reveal(d)).not.toBe('t');
  });

  it.each(SIZES)('moves a value to the row that stands after its former owner, in batches of %i', async (batchSize) => {
    const email = (id: string, minute: number, name?: string) =>
      row(id, minute, name === undefined ? {} : { email: `${name}@b.co` });
    await imported([email('a', 1, 'x'), email('b', 1, 'y'), email('c', 1, 'z')]);
    const chain = [email('a', 2), email('b', 2, 'x'), email('c', 2, 'y')];
    expect(await imported(chain, { batchSize })).toEqual(['imported', 'imported', 'imported']);
    expect(await emailsOf('a', 'b', 'c')).toEqual([null, 'x@b.co', 'y@b.co']);
    const against = [email('c', 3, 'x'), email('b', 3, 'q'), email('a', 3, 'y')];
    for (const isPreview of [true, false])
      expect(await imported(against, { isPreview, batchSize })).toEqual(['imported', 'imported', 'imported']);
    expect(await emailsOf('a', 'b', 'c')).toEqual(['y@b.co', 'q@b.co', 'x@b.co']);
    const ring = [email('a', 4, 'q'), email('b', 4, 'y'), email('d', 4, 'y')];
    expect(await imported(ring, { batchSize })).toEqual(['imported', 'imported', 'imported_without email:b']);
    expect(await imported(ring, { batchSize })).toEqual(['unchanged', 'unchanged', 'unchanged email:b']);
  });

  it.each(SIZES)('moves values to users who stand before the former owners, in batches of %i', async (batchSize) => {
    const [qq, weixin] = [{ qq: { openid: 'o' } }, { weixin: { openid: 'o' } }];
    const dora = { username: 'dora', password: OTHER_HASH, salt: 's', sessionToken: 'new' };
    await imported([row('a', 1, { authData: qq }), row('b', 1, { authData: weixin }), row('c', 1)]);
    await imported([row('d', 1, { username: 'dora' })]);
    const rows = [row('a', 2, { authData: { ...qq, ...weixin } }), row('b', 2), row('c', 2, dora), row('d', 2)];
    rows.push(row('c', 2, { username: 'dora' }));
    for (const isPreview of [true, false])
      expect(await imported(rows, { isPreview, batchSize })).toEqual(rows.map(() => 'imported'));
    const [a, b, c] = [await stored('a'), await stored('b'), await stored('c')];
    expect([[...(a.identities?.keys() ?? [])].sort(), b.identities]).toEqual([['qq', 'weixin'], null]);
    expect([c.username, sessions.reveal(c), c.passwordHash]).toEqual(['dora', 'new', expect.any(String)]);
    expect(await imported(rows, { batchSize })).toEqual(rows.map(() => 'unchanged'));
  });

  it.each(SIZES)('judges several rows of one user in their order, in batches of %i', async (batchSize) => {
    const rows = [
      row('a', 1, { email: 'x@b.co', sessionToken: 't', password: HASH, salt: 's' }),
      row('a', 2, { email: 'y@b.co' }),
      row('b', 1, { email: 'x@b.co' }),
      row('a', 1, { email: 'z@b.co' }),
      ...[row('c', 1), row('c', 2, { createdAt: null }), row('c', 2)],
    ];
    const again = ['imported_without createdAt:', 'unchanged'];
    const expected = ['imported', 'imported', 'imported', 'unchanged', 'imported', ...again];
    for (const isPreview of [true, false]) {
      expect(await imported(rows, { isPreview, batchSize })).toEqual(expected);
    }
    const later = [row('c', 3, { createdAt: null }), row('c', 3)];
    expect(await imported(later, { isPreview: true, batchSize })).toEqual(again);
    const a = await stored('a');
    expect([a.email, sessions.reveal(a)]).toEqual(['y@b.co', 't']);
    expect(a.passwordHash).toMatch(/^imported:/);
  });

  it('refuses a row whose custom fields are too large, and no other', async () => {
    const rows = [row('a', 1, { text: 'x'.repeat(LIMIT_BYTES) }), row('b', 1)];
    expect(await imported(rows)).toEqual(['refused fields:', 'imported']);
  });
});

/** Small exports over few names, so that most rows want what others have. */
const oneOf = (...values: string[]) => fc.constantFrom<string | undefined>(undefined, ...values);
const exportedRow = fc
  .record({
    ...{ objectId: fc.constantFrom('a', 'b', 'c', 'd'), username: fc.constantFrom('a', 'b', 'c', 'd') },
    ...{ minute: fc.constantFrom(1, 2, 3), created: fc.constantFrom(0, 0, 0, 0, 1), email: oneOf('x@b.co', 'y@b.co') },
    ...{ token: oneOf('t1', 't2'), uid: oneOf('o1', 'o2'), password: oneOf(HASH, OTHER_HASH) },
  })
  .map(({ objectId, username, minute, created, email, token, uid, password }) =>
    row(objectId, minute, {
      ...{ username, createdAt: at(created) },
      ...(email === undefined ? {} : { email }),
      ...(token === undefined ? {} : { sessionToken: token }),
      ...(password === undefined ? {} : { password, salt: 's' }),
      ...(uid === undefined ? {} : { authData: { qq: { openid: uid } } }),
    }),
  );
const smallExport = fc.array(exportedRow, { maxLength: 8 });
const batchSizes = fc.constantFrom(1, 2, 3, 500);
const RUNS = 150;
const PROPERTY_MS = 120_000;

describe('a preview', () => {
  it(
    'says what the import does, whatever stands in the export and here; a second import only completes, a third writes nothing',
    async () => {
      await fc.assert(
        fc.asyncProperty(smallExport, smallExport, batchSizes, batchSizes, async (before, rows, one, other) => {
          await newApp();
          await imported(before, { batchSize: one });
          const preview = await imported(rows, { isPreview: true, batchSize: one });
          const first = await imported(rows, { batchSize: other });
          expect(preview).toEqual(first);
          // An address that its owner has given up after its row.
          await imported(rows, { batchSize: one });
          const third = await imported(rows, { batchSize: other });
          const again = third.filter((outcome, index) => {
            return first[index]?.startsWith('refused') === false && !/^(?:unchanged|kept_newer)/.test(outcome);
          });
          expect(again).toEqual([]);
        }),
        { numRuns: RUNS },
      );
    },
    PROPERTY_MS,
  );
});

describe('an import beside sign-ups that want the same names', () => {
  const COUNT = 60;
  const signUp = (n: number, own: Partial<UserRow>) =>
    users
      .insert(
        database,
        app,
        userRow({ ...sessions.create(`s${n}`).columns, objectId: `s${n}`, username: `s${n}`, ...own }),
      )
      .catch(() => undefined);

  it('finishes; each name and address has one owner, which the verdicts name', async () => {
    const rows = Array.from({ length: COUNT }, (_, n) => row(`i${n}`, 1, { username: `u${n}`, email: `${n}@b.co` }));
    const signUps = async () => {
      for (let n = COUNT - 1; n >= 0; n -= 1)
        await signUp(n, n % 2 === 0 ? { username: `u${n}` } : { email: `${n}@b.co` });
    };
    const [verdicts] = await Promise.all([imported(rows, { batchSize: 10 }), signUps(), signUps()]);
    for (const [n, verdict] of verdicts.entries()) {
      const user = await users.find(app, `i${n}`);
      const isTaken = (await users.find(app, `s${n}`)) !== undefined;
      const lost = n % 2 === 0 ? `refused username:s${n}` : `imported_without email:s${n}`;
      expect([n, verdict]).toEqual([n, isTaken ? lost : 'imported']);
      expect([n, user?.email ?? null]).toEqual([n, isTaken ? null : `${n}@b.co`]);
    }
    expect(await imported(rows)).toEqual(verdicts.map((one) => one.replace(/^imported(?:_without)?/, 'unchanged')));
  });

  it('finishes beside a second import of the same rows', async () => {
    const rows = Array.from({ length: COUNT }, (_, n) =>
      row(`i${n}`, 1, { email: `${n % 50}@b.co`, authData: { qq: { openid: `${n}` }, weibo: { uid: `${n}` } } }),
    );
    const both = await Promise.all([
      imported(rows, { batchSize: 20 }),
      imported([...rows].reverse(), { batchSize: 20 }),
    ]);
    expect(both.flat().filter((outcome) => outcome.startsWith('refused'))).toEqual([]);
    const [counts] = await database.query<Record<string, number>>(
      `SELECT count(*)::int AS users, count(email)::int AS emails,
              (SELECT count(*)::int FROM accounts.identities WHERE app_id = $1) AS identities
         FROM accounts.users WHERE app_id = $1`,
      [app],
    );
    expect(counts).toEqual({ users: COUNT, emails: 50, identities: 2 * COUNT });
    expect(new Set((await runImport(rows)).map(({ outcome }) => outcome))).toEqual(new Set(['unchanged']));
  });
});

describe('batches that are sent before the reply to the former one', () => {
  const batch = (objectIds: readonly string[], order: Partial<ImportObjectsRequest>, more: JsonObject = {}) => ({
    appId: app,
    className: '_User' as const,
    isPreview: false,
    wrapPasswords: false,
    objects: objectIds.map((objectId) => ({
      ...{ objectId, createdAt: at(0), updatedAt: at(1), acl: null, fields: {} },
      columns: { username: objectId, ...more },
    })),
    ...order,
  });
  const email = { email: 'wanted@b.co' };

  it('are stored in their order', async () => {
    const ids = Array.from({ length: 20 }, () => randomUUID());
    const replies = await Promise.all(
      ids.map((batchId, n) =>
        imports.import(batch([`a${n}`, `b${n}`, `c${n}`], { batchId, ...(n > 0 && { after: ids[n - 1] }) }, email)),
      ),
    );
    const all = replies.flatMap(({ verdicts }) => outcomes(verdicts));
    expect(all).toEqual(['imported', ...Array.from({ length: 59 }, () => 'imported_without email:a0')]);
  });

  it('are not stored after a batch that is unknown', async () => {
    const { isDone } = await imports.import(batch(['a'], { after: randomUUID() }));
    expect([isDone, await users.find(app, 'a')]).toEqual([false, undefined]);
  });

  it('are not stored after a batch that has failed, nor after those that wait for it', async () => {
    const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
    const failed = imports.import(batch(['a'], { batchId: first, appId: 'no-such-application' }));
    const others = [
      imports.import(batch(['b'], { batchId: second, after: first })),
      imports.import(batch(['c'], { batchId: third, after: second })),
    ];
    await expect(failed).rejects.toThrow();
    expect((await Promise.all(others)).map(({ isDone }) => isDone)).toEqual([false, false]);
    expect(await users.findEach(database, app, ['b', 'c'])).toEqual([]);
    const again = await imports.import(batch(['a'], { batchId: first }));
    const next = await imports.import(batch(['b'], { batchId: second, after: first }));
    expect([again, next].map(({ isDone }) => isDone)).toEqual([true, true]);
  });
});

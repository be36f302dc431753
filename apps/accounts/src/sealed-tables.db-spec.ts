import { randomBytes } from 'node:crypto';
import { Test, type TestingModule } from '@nestjs/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sealedCodeContext, sealedTokenContext } from '#contracts';
import { Database, DatabaseModule, migrate } from '#database';
import type { QueryDatabase } from '#objects/store';
import { Metrics, ObservabilityModule, ProcessInfo } from '#observability';
import { Sealer } from '#security';
import { newDatabase } from '#testing';
import { userRow } from '../test/stored.js';
import { accountsDatabase } from './accounts.database.js';
import { keyContext, secretContext } from './applications/application.rules.js';
import { ApplicationsRepository } from './applications/applications.repository.js';
import { openImportedPassword, sealImportedPassword } from './passwords/passwords.service.js';
import { SealingController } from './secrets/secrets.controller.js';
import { SessionTokens } from './sessions/session-tokens.js';
import type { UserRow } from './users/user.rules.js';
import { UsersRepository } from './users/users.repository.js';

const [OLD, NEW] = ['the secret of before, thirty-two and more', 'the secret of today, thirty-two and more'];
/** More than one page. */
const USERS = 250;
const APP = 'shop';
const TIME = new Date('2026-01-01T00:00:00.000Z');

describe('sealed values of accounts', () => {
  const [before, swapped, after] = [new Sealer(OLD), new Sealer(NEW, [OLD]), new Sealer(NEW)];
  let module: TestingModule;
  let database: Database;
  let applications: ApplicationsRepository;
  let tokens: Map<string, string>;

  const usersWith = (sealer: Sealer) => new UsersRepository(database, {} as QueryDatabase, sealer);
  const rows = (sealer = swapped) => new SealingController(database, sealer, new ProcessInfo());
  const newUser = (objectId: string, sealer: Sealer): UserRow => {
    const { token, columns } = new SessionTokens(sealer).create(objectId);
    tokens.set(objectId, token);
    const identities = new Map([['weixin', { kind: 'weixin', uid: objectId, authData: { openid: objectId } }]]);
    const linked = { identities: identities as unknown as UserRow['identities'] };
    return userRow({ ...columns, ...linked, objectId, username: objectId, createdAt: TIME, updatedAt: TIME });
  };
  /** Walks all pages of a table. */
  const walk = async (table: string, reseal = true, sealer = swapped) => {
    const counts: Record<string, number> = {};
    let [resealed, pages, next] = [0, 0, null as string[] | null];
    do {
      const page = await rows(sealer).walk({ table, after: next, keyId: sealer.keyId, reseal });
      for (const [keyId, count] of Object.entries(page.counts)) counts[keyId] = (counts[keyId] ?? 0) + count;
      resealed += page.resealed;
      pages += 1;
      next = page.next;
    } while (next !== null);
    return { counts, resealed, pages };
  };
  const found = async (sealer: Sealer, objectId: string) => {
    const hashes = new SessionTokens(sealer).hashes(tokens.get(objectId) ?? '');
    const owner = await usersWith(sealer).findBySessionToken(APP, hashes);
    return owner === undefined ? undefined : usersWith(sealer).find(APP, owner.objectId);
  };

  beforeAll(async () => {
    const options = accountsDatabase(await newDatabase(), 10);
    await migrate(options);
    module = await Test.createTestingModule({
      imports: [ObservabilityModule.forRoot(new Metrics()), DatabaseModule.forRoot(options)],
      providers: [ApplicationsRepository],
    }).compile();
    database = module.get(Database);
    applications = module.get(ApplicationsRepository);
  });
  afterAll(() => module.close());
  beforeEach(async () => {
    tokens = new Map();
    await database.query('TRUNCATE accounts.applications, accounts.users, accounts.outbox CASCADE');
    await database.transaction(async (tx) => {
      const sealedAppKey = before.seal('app key', keyContext(APP, 'app'));
      const sealedMasterKey = before.seal('master key', keyContext(APP, 'master'));
      await applications.insert(tx, { id: APP, name: APP, sealedAppKey, sealedMasterKey });
      await applications.keepKeys(tx, APP, ['app', 'master'], null);
      await applications.changeForwardSecret(tx, APP, before.seal('forward', secretContext(APP, 'forwardSecret')));
      for (let n = 0; n < USERS; n += 1)
        await usersWith(before).insert(tx, APP, newUser(`user${String(n).padStart(20, '0')}`, before));
    });
  });

  it('is counted by the key that sealed it', async () => {
    expect(await walk('users', false)).toEqual({ counts: { [before.keyId]: 2 * USERS }, resealed: 0, pages: 1 });
    expect(await walk('applications', false)).toMatchObject({ counts: { [before.keyId]: 3 } });
    expect(await walk('old keys of applications', false)).toMatchObject({ counts: { [before.keyId]: 2 } });
  });

  it('is re-encrypted page by page, once, and needs the old secret no more', async () => {
    const { resealed, pages } = await walk('users');
    expect([resealed, pages]).toEqual([2 * USERS, 2]);
    expect(await walk('users')).toEqual({ counts: { [swapped.keyId]: 2 * USERS }, resealed: 0, pages: 2 });
    for (const objectId of tokens.keys()) {
      const user = await found(after, objectId);
      expect(user?.identities?.get('weixin')?.uid).toBe(objectId);
      expect(new SessionTokens(after).reveal(user!)).toBe(tokens.get(objectId));
    }
    expect((await walk('applications')).resealed).toBe(3);
    expect((await walk('old keys of applications')).resealed).toBe(2);
    const row = await applications.find(APP);
    expect(after.open(row!.sealedAppKey, keyContext(APP, 'app'))).toBe('app key');
    expect(after.open(row!.sealedForwardSecret!, secretContext(APP, 'forwardSecret'))).toBe('forward');
    expect(row!.oldKeys.map(({ kind, sealedKey }) => after.open(sealedKey, keyContext(APP, kind))).sort()).toEqual([
      'app key',
      'master key',
    ]);
  });

  it('in imported passwords is re-encrypted; our own hashes stay as they are', async () => {
    const [imported = '', own = ''] = tokens.keys();
    const password = { scheme: 'leancloud', salt: 's', hash: `${'h'.repeat(86)}==` } as const;
    const set = 'UPDATE accounts.users SET password_hash = $2 WHERE object_id = $1';
    await database.query(set, [imported, sealImportedPassword(before, imported, password)]);
    await database.query(set, [own, 'bcrypt-sha256:ours']);
    const text = JSON.stringify(password);
    const recognise = 'UPDATE accounts.users SET imported_password_hash = $2 WHERE object_id = $1';
    await database.query(recognise, [imported, before.lookupHash(text)]);
    expect((await walk('users')).resealed).toBe(2 * USERS + 1);
    const hashOf = async (objectId: string) => (await usersWith(after).find(APP, objectId))?.passwordHash ?? '';
    expect(openImportedPassword(after, imported, await hashOf(imported))).toEqual(password);
    expect(openImportedPassword(after, own, await hashOf(own))).toBeUndefined();
    expect(await hashOf(own)).toBe('bcrypt-sha256:ours');
    // A second import recognises the password with the new secret, too.
    expect((await usersWith(after).find(APP, imported))?.importedPasswordHash).toEqual(after.lookupHash(text));
  });

  it('keeps the hash by which a second import recognises the token, while it is the one in use', async () => {
    const [imported = '', replaced = ''] = tokens.keys();
    const note =
      'UPDATE accounts.users SET imported_token_hash = COALESCE($2, session_token_hash) WHERE object_id = $1';
    await database.query(note, [imported, null]);
    await database.query(note, [replaced, Buffer.from('former')]);
    await walk('users');
    const hashOf = async (objectId: string) => (await usersWith(after).find(APP, objectId))?.importedTokenHash;
    expect(await hashOf(imported)).toEqual(after.lookupHash(tokens.get(imported) ?? ''));
    expect(await hashOf(replaced)).toEqual(Buffer.from('former'));
  });

  it('in unpublished events is re-encrypted within them', async () => {
    const link = { appId: APP, userId: 'u1', email: 'a@b.co' };
    const code = { appId: APP, mobilePhoneNumber: '+8613800000000', name: 'Shop' };
    const payloads = [
      { ...link, sealedToken: before.seal('token', sealedTokenContext(link)) },
      { ...code, sealedCode: before.seal('012345', sealedCodeContext(code)) },
      { appId: APP, userId: 'u1' },
    ];
    for (const payload of payloads)
      await database.query("INSERT INTO accounts.outbox (pattern, payload) VALUES ('x', $1)", [
        JSON.stringify(payload),
      ]);
    expect((await walk('events to publish')).resealed).toBe(2);
    const stored = await database.query<{ payload: Record<string, string> }>(
      'SELECT payload FROM accounts.outbox ORDER BY id',
    );
    const [mail, sms, other] = stored.map(({ payload }) => payload);
    expect(after.open(mail?.['sealedToken'] ?? '', sealedTokenContext(link))).toBe('token');
    expect(after.open(sms?.['sealedCode'] ?? '', sealedCodeContext(code))).toBe('012345');
    expect([{ ...mail, sealedToken: '' }, { ...sms, sealedCode: '' }, other]).toEqual([
      { ...link, sealedToken: '' },
      { ...code, sealedCode: '' },
      { appId: APP, userId: 'u1' },
    ]);
  });

  it('is found by either hash before, during and after the re-encryption', async () => {
    const ids = [...tokens.keys()].filter((_, index) => index % 5 === 0);
    const look = async () => {
      for (const objectId of ids) expect((await found(swapped, objectId))?.objectId).toBe(objectId);
    };
    await Promise.all([walk('users'), look(), look()]);
    await look();
    expect(await found(before, ids[0] ?? '')).toBeUndefined();
  });

  it('never reverts a concurrent change', async () => {
    const users = usersWith(swapped);
    const changed = [...tokens.keys()].slice(0, 50);
    const changing = Promise.all(
      changed.map((objectId) =>
        database.transaction(async (tx) => {
          const user = await users.lock(tx, APP, objectId);
          const { token, columns } = new SessionTokens(swapped).create(objectId);
          tokens.set(objectId, token);
          await users.update(tx, APP, { ...user!, ...columns, fields: { changed: true } });
        }),
      ),
    );
    await Promise.all([walk('users'), walk('users'), changing]);
    await walk('users');
    for (const objectId of changed) expect((await found(after, objectId))?.fields).toEqual({ changed: true });
  });

  it('does not wait for locks: a locked row is left to the next walk', async () => {
    const [held = ''] = tokens.keys();
    await database.transaction(async (tx) => {
      await usersWith(swapped).lock(tx, APP, held);
      expect((await walk('users')).resealed).toBe(2 * USERS - 2);
    });
    expect((await walk('users')).resealed).toBe(2);
  });

  it('stays unchanged where it does not open, and does not stop the re-encryption of others', async () => {
    const [broken = '', foreign = ''] = tokens.keys();
    const set = 'UPDATE accounts.users SET sealed_session_token = $2 WHERE object_id = $1';
    const brokenText = `s1.${before.keyId}.${randomBytes(40).toString('base64url')}`;
    await database.query(set, [broken, brokenText]);
    await database.query(set, [foreign, new Sealer('a secret that is no longer accepted, 32+').seal('x', 'y')]);
    expect((await walk('users')).resealed).toBe(2 * USERS - 2);
    const { counts } = await walk('users');
    expect([counts[before.keyId], counts[swapped.keyId]]).toEqual([1, 2 * USERS - 2]);
    const sql = 'SELECT sealed_session_token AS text FROM accounts.users WHERE object_id = $1';
    expect((await database.query<{ text: string }>(sql, [broken]))[0]?.text).toBe(brokenText);
  });

  it('is refused where the caller expects another sealing secret', async () => {
    const wrong = rows().walk({ table: 'users', after: null, keyId: before.keyId, reseal: true });
    await expect(wrong).rejects.toMatchObject({
      errorName: 'NO_EFFECT',
      message: expect.stringMatching(/different/) as string,
    });
    expect((await walk('users', false)).counts).toEqual({ [before.keyId]: 2 * USERS });
  });

  it('is looked up by its index, with one secret and with two', async () => {
    await database.query('ANALYZE accounts.users');
    for (const condition of ['session_token_hash = $2', 'session_token_hash = ANY ($2)']) {
      const [hash, other] = swapped.lookupHashes('token');
      await database.transaction(async (tx) => {
        // The generic plan that a prepared statement gets after some runs.
        await tx.query("SET LOCAL plan_cache_mode = 'force_generic_plan'");
        const sql = `EXPLAIN SELECT object_id FROM accounts.users WHERE app_id = $1 AND ${condition}`;
        const value = condition.includes('ANY') ? [hash, other] : hash;
        const plan = await tx.query<{ 'QUERY PLAN': string }>(sql, [APP, value], `explain ${condition}`);
        expect(plan.map((line) => line['QUERY PLAN']).join('\n')).toContain('users_session_token_key');
      });
    }
  });
});

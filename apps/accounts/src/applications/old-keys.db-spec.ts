import { Test, type TestingModule } from '@nestjs/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Database, DatabaseModule, migrate } from '#database';
import { Broadcasts, InProcessTransport } from '#messaging';
import { Metrics, ObservabilityModule, UnfitError } from '#observability';
import { Sealer } from '#security';
import { newDatabase, unique } from '#testing';
import { ACCOUNTS_CONFIG } from '../accounts.config.js';
import { accountsDatabase } from '../accounts.database.js';
import { ApplicationsRepository } from './applications.repository.js';
import { ApplicationsService } from './applications.service.js';

const BOTH = { appKey: true, masterKey: true };
const APP_KEY = { appKey: true, masterKey: false };

describe('replaced keys', () => {
  let module: TestingModule;
  let database: Database;
  let applications: ApplicationsService;
  let id: string;
  const oldKeys = async () => (await applications.get(id)).oldKeys;

  beforeAll(async () => {
    const options = accountsDatabase(await newDatabase(), 10);
    await migrate(options);
    module = await Test.createTestingModule({
      imports: [ObservabilityModule.forRoot(new Metrics()), DatabaseModule.forRoot(options)],
      providers: [
        ApplicationsRepository,
        ApplicationsService,
        { provide: Broadcasts, useValue: new Broadcasts(new InProcessTransport()) },
        { provide: ACCOUNTS_CONFIG, useValue: {} },
        { provide: Sealer, useValue: new Sealer('a secret of thirty-two characters, or more') },
      ],
    }).compile();
    database = module.get(Database);
    applications = module.get(ApplicationsService);
  });
  afterAll(() => module.close());
  beforeEach(async () => {
    id = unique('app');
    await applications.create({ id, name: 'shop', appKey: 'first-app-key', masterKey: 'first-master-key' });
  });

  it('are not opened with another secret: the process is unfit', async () => {
    await applications.assertSecretFits();
    const sealer = new Sealer('another secret of thirty-two characters');
    const other = new ApplicationsService(
      module.get(ApplicationsRepository),
      database,
      sealer,
      module.get(Broadcasts),
      module.get(ACCOUNTS_CONFIG),
    );
    const error: unknown = await other.assertSecretFits().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnfitError);
    expect(String(error)).toMatch(/another GATEPOST_SECRET/);
  });

  it('end at once unless they are kept', async () => {
    expect((await applications.rotateKeys(id, BOTH)).oldKeys).toEqual([]);
  });

  it('are kept for a time, or until they are revoked', async () => {
    await applications.rotateKeys(id, { ...BOTH, keepOldSeconds: 3_600 });
    const { appKey } = await applications.rotateKeys(id, { ...APP_KEY, keepOldSeconds: null });
    const [one, two, three, ...others] = await oldKeys();
    expect(others).toEqual([]);
    expect([one, two].map((old) => [old?.kind, old?.key]).sort()).toEqual([
      ['app', 'first-app-key'],
      ['master', 'first-master-key'],
    ]);
    expect(Date.parse(one?.acceptedUntil ?? '') - Date.parse(one?.replacedAt ?? '')).toBe(3_600_000);
    expect([three?.kind, three?.acceptedUntil]).toEqual(['app', null]);
    expect([appKey, 'first-app-key']).not.toContain(three?.key);
  });

  it('end by themselves, and are removed by the next rotation', async () => {
    await applications.rotateKeys(id, { ...APP_KEY, keepOldSeconds: 3_600 });
    await database.query("UPDATE accounts.old_application_keys SET accepted_until = now() - interval '1 second'");
    expect(await oldKeys()).toEqual([]);
    await applications.rotateKeys(id, APP_KEY);
    expect(await database.query('SELECT 1 FROM accounts.old_application_keys WHERE app_id = $1', [id])).toEqual([]);
  });

  it('are revoked by their kind', async () => {
    await applications.rotateKeys(id, { ...BOTH, keepOldSeconds: null });
    const { oldKeys: left } = await applications.revokeOldKeys(id, APP_KEY);
    expect(left.map(({ key }) => key)).toEqual(['first-master-key']);
  });

  it('are all kept where several are replaced at once', async () => {
    const rotations = Array.from({ length: 5 }, () =>
      applications.rotateKeys(id, { ...APP_KEY, keepOldSeconds: null }),
    );
    const made = (await Promise.all(rotations)).map(({ appKey }) => appKey);
    const kept = (await oldKeys()).map(({ key }) => key);
    const { appKey } = await applications.get(id);
    expect([...kept, appKey].sort()).toEqual(['first-app-key', ...made].sort());
  });

  it('do not delay new rows of the application while they are stored', async () => {
    await database.transaction(async (tx) => {
      await module.get(ApplicationsRepository).keepKeys(tx, id, ['app'], null);
      // As the foreign keys of these rows lock it.
      const locked = database.query('SELECT 1 FROM accounts.applications WHERE id = $1 FOR KEY SHARE NOWAIT', [id]);
      await expect(locked).resolves.toHaveLength(1);
    });
  });

  it('are ten at most: then nothing changes', async () => {
    for (let count = 0; count < 5; count += 1) await applications.rotateKeys(id, { ...BOTH, keepOldSeconds: null });
    const before = await applications.get(id);
    const eleventh = applications.rotateKeys(id, { ...APP_KEY, keepOldSeconds: null });
    await expect(eleventh).rejects.toMatchObject({ errorName: 'NO_EFFECT' });
    expect(await applications.get(id)).toEqual(before);
  });

  it('are refused for an unknown application', async () => {
    await expect(applications.revokeOldKeys('unknown', BOTH)).rejects.toMatchObject({ errorName: 'NOT_FOUND' });
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queryPlan, unique } from '#testing';
import { migratedOptions } from '../../test/push-database.js';
import { PushDatabase } from '../push-delivery.database.js';
import type { ScanPosition } from '../pushes/push.row.js';
import { InstallationScanRepository } from './installations.repository.js';

const START: ScanPosition = { partition: -1, objectId: '' };
/** In byte order; a linguistic collation orders them differently. */
const IDS = ['-a', '0', '09', 'A', 'Z', '_b', 'a', 'aB', 'a_', 'ab', 'constructor', 'z'];
const MANY = 20_000;

describe('the scan of installations in PostgreSQL', () => {
  const app = unique('app');
  let options: Awaited<ReturnType<typeof migratedOptions>>;
  let database: PushDatabase;
  let scan: InstallationScanRepository;

  beforeAll(async () => {
    options = await migratedOptions(2);
    database = new PushDatabase(options);
    scan = new InstallationScanRepository(database);
    // A column inherits the collation of its database; this one is linguistic.
    await database.query('ALTER TABLE push.installations ALTER COLUMN object_id TYPE text COLLATE "en-x-icu"');
    await insert(app, IDS);
    await insert(
      unique('other'),
      Array.from({ length: MANY }, (_, index) => index.toString(16).padStart(24, '0')),
    );
    await database.query('VACUUM ANALYZE push.installations');
  });
  afterAll(() => database.close());

  const insert = (appId: string, ids: readonly string[]) =>
    database.query(
      `INSERT INTO push.installations (app_id, object_id, partition, installation_id, created_at, updated_at)
       SELECT $1, id, 7, id, now(), now() FROM unnest($2::text[]) AS id`,
      [appId, ids],
    );
  const job = { appId: app, target: { where: [] }, hasVendors: false };

  it('uses the byte order of ids on every page, for any collation of the database', async () => {
    const found: string[] = [];
    let after = START;
    for (let page = await scan.find(job, { after, limit: 5 }); page.length > 0;) {
      found.push(...page.map(({ objectId }) => objectId));
      after = page.at(-1) ?? after;
      page = await scan.find(job, { after, limit: 5 });
    }
    expect(found).toEqual(IDS);
    expect([...IDS].sort()).toEqual(IDS);
  });

  it('finds the position a number of installations further in the same order', async () => {
    expect(await scan.positionAfter(app, START, 6)).toEqual({ partition: 7, objectId: '_b' });
    const range = { after: { partition: 7, objectId: 'Z' }, until: { partition: 7, objectId: 'aB' }, limit: 100 };
    expect((await scan.find(job, range)).map(({ objectId }) => objectId)).toEqual(['_b', 'a', 'aB']);
  });

  it('reports a statement that takes too long, so that the scan narrows its range', async () => {
    const impatient = new PushDatabase({ ...options, statementTimeoutMs: 100 });
    const slow = new InstallationScanRepository(impatient);
    await database.transaction(async (tx) => {
      await tx.query('LOCK TABLE push.installations IN ACCESS EXCLUSIVE MODE');
      const timedOut = { errorName: 'QUERY_TIMED_OUT' };
      await expect(slow.find(job, { after: START, limit: 5 })).rejects.toMatchObject(timedOut);
      await expect(slow.positionAfter(app, START, 5)).rejects.toMatchObject(timedOut);
    });
    await impatient.close();
  });

  it('uses its index', async () => {
    const { indexes } = await queryPlan(database, (within) =>
      new InstallationScanRepository(within as PushDatabase).find(job, { after: START, limit: 100 }),
    );
    expect(indexes).toContain('installations_scan_idx');
  });
});

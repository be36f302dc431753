import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate, type Queryable } from '#database';
import { compileCount, compileFind, parseOrder, parseWhere } from '#objects';
import type { QueryDatabase } from '#objects/store';
import { newDatabase, queryPlan } from '#testing';
import { PushDatabase, pushDatabase } from '../push-delivery.database.js';
import { INSTALLATION_QUERY_CLASS, InstallationsRepository, pushScope } from './installations.repository.js';

const INSTALLATIONS = 100_000;
/** A scan of all rows reads thousands. */
const MAX_PAGES = 500;
const app = 'plans';

let database: PushDatabase;
let installations: InstallationsRepository;

beforeAll(async () => {
  const options = { ...pushDatabase(await newDatabase(), 4), statementTimeoutMs: 60_000 };
  await migrate(options);
  database = new PushDatabase(options);
  installations = new InstallationsRepository(database, {} as QueryDatabase);
  await database.query(
    `INSERT INTO push.installations
       (app_id, object_id, partition, installation_id, device_type, device_token, fields, created_at, updated_at)
     SELECT $1, lpad(to_hex(n), 24, '0'), n % 64, 'device' || n, CASE n % 2 WHEN 0 THEN 'ios' ELSE 'android' END,
            'token' || n, jsonb_build_object('channels', jsonb_build_array('all', 'c' || n % 500), 'level', n % 1000,
              'vendor', 'HMS', 'registrationId', CASE n % 2 WHEN 0 THEN 'registration' || n END),
            timestamptz '2026-01-01' + n * interval '1 second', now()
       FROM generate_series(1::bigint, $2) AS n`,
    [app, INSTALLATIONS],
  );
  await database.query('VACUUM ANALYZE push.installations');
}, 120_000);
afterAll(() => database.close());

async function expectFewPages(indexes: readonly string[], run: (within: Queryable) => Promise<unknown>): Promise<void> {
  const plan = await queryPlan(database, run);
  expect(plan.indexes).toEqual(expect.arrayContaining([...indexes]));
  expect(plan.pages).toBeLessThan(MAX_PAGES);
}

describe(`among ${INSTALLATIONS} installations`, () => {
  const find = (where: object, order = '') => {
    const query = { where: parseWhere(where), order: parseOrder(order), limit: 100 };
    const compiled = compileFind(query, INSTALLATION_QUERY_CLASS, pushScope(app));
    return (within: Queryable) => installations.list(compiled, within);
  };

  it.each<[string, string, object, string?]>([
    ['a channel', 'installations_fields_idx', { channels: 'c77' }],
    ['several channels', 'installations_fields_idx', { channels: { $all: ['all', 'c77'] } }],
    ['a custom field', 'installations_fields_idx', { level: 77 }],
    ['a custom field, of one type', 'installations_fields_idx', { level: 77, deviceType: 'android' }],
    ['a name', 'installations_installation_id_key', { installationId: 'device777' }],
    ['ids', 'installations_installation_id_key', { installationId: { $in: ['device1', 'device77777', 'unknown'] } }],
    ['a token', 'installations_device_token_key', { deviceType: 'ios', deviceToken: 'token778' }],
    ['ids', 'installations_pkey', { objectId: { $in: ['000000000000000000000007', '000000000000000000000008'] } }],
    ['nothing', 'installations_newest_idx', {}],
    ['nothing, newest first', 'installations_newest_idx', {}, '-createdAt'],
    ['a channel that all have', 'installations_newest_idx', { channels: 'all' }],
  ])('asking for %s is answered by %s in few pages', async (_, index, where, order) => {
    await expectFewPages([index], find(where, order));
  });

  it('counting a channel reads few pages', async () => {
    const condition = compileCount(parseWhere({ channels: 'c77' }), INSTALLATION_QUERY_CLASS, pushScope(app));
    await expectFewPages(['installations_fields_idx'], (within) => installations.count(condition, within));
  });

  it('a registration finds its installation by the indexes of its identities', async () => {
    const identity = {
      objectId: '000000000000000000000007',
      installationId: 'device7',
      deviceType: 'android',
      deviceToken: 'token7',
      vendor: 'hms',
      registrationId: 'registration8',
    };
    await expectFewPages(
      [
        'installations_pkey',
        'installations_installation_id_key',
        'installations_device_token_key',
        'installations_registration_idx',
      ],
      // EXPLAIN takes no lock that outlives its statement.
      (within) => installations.lockMatching(within as never, app, identity),
    );
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ThingTable } from '../../test/thing-table.js';
import type { FieldIndex } from './field-index.js';

const ROWS = 20_000;
const LIMIT = 10;
/** The rows of the answer, one more for each part of the query, and those where the field is a list. */
const MOST_READ = 3 * LIMIT;
const INDEXES: readonly FieldIndex[] = [{ fields: ['rank'] }, { fields: ['level', 'rank'] }];

let things: ThingTable;
beforeAll(async () => {
  things = await ThingTable.create();
  // Nine of ten rows have one level, so that the statistics of the values are skewed; each rank is there once.
  await things.database.query(`
    INSERT INTO things (app, id, name, created_at, fields)
    SELECT 'app', 't' || n, 't' || n, timestamptz '2026-01-01' + n * interval '1 second',
      jsonb_build_object('rank', n, 'level', CASE WHEN n % 10 = 0 THEN n ELSE 1 END)
    FROM generate_series(1, ${ROWS}) AS n`);
  for (const index of INDEXES) await things.index(index);
  await things.database.query('ANALYZE things');
}, 60_000);
afterAll(() => things.close());

describe('a generic plan with an index of custom fields', () => {
  const cases: readonly [name: string, where: object, order: string | undefined][] = [
    ['finds equal values', { rank: 77 }, undefined],
    ['finds values of a list', { rank: { $in: [5, 6, 7] } }, undefined],
    ['reads a range in its order', { rank: { $gte: 100 } }, 'rank'],
    ['reads a range in descending order', { rank: { $lt: 19_000 } }, '-rank'],
    ['reads all in its order', {}, 'rank'],
    ['reads a frequent value in the order of the next field', { level: 1 }, 'rank'],
    ['reads a rare value in the order of the next field', { level: 500 }, 'rank'],
    ['reads a frequent value and a range', { level: 1, rank: { $gt: 10_000 } }, 'rank'],
  ];

  it.each(cases)('%s and reads few rows', async (_name, where, order) => {
    const options = { limit: LIMIT, indexes: INDEXES, ...(order !== undefined && { order }) };

    expect(await things.find(where, options)).not.toEqual([]);
    expect(await things.rowsRead(where, options)).toBeLessThanOrEqual(MOST_READ);
  });
});

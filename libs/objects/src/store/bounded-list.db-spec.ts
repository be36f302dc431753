import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database, type Queryable } from '#database';
import { newDatabase } from '#testing';
import { listBounded } from './query-database.js';

const ROWS = 60;
const LISTED = { table: 'things', columns: 'n, fields', size: 'octet_length(fields::text)' };
/** Settings that force different plans. */
const PLANS = ['enable_indexscan = off', 'enable_sort = off', 'enable_seqscan = off', 'enable_hashagg = off'];

describe('a bounded list', () => {
  let database: Database;

  beforeAll(async () => {
    database = new Database({
      url: await newDatabase(),
      schema: 'public',
      migrations: [],
      poolSize: 1,
      applicationName: 'test',
    });
    // Every third row has 3 MiB: eleven of them exceed the limit of a query.
    await database.query(
      `CREATE TABLE things AS
         SELECT n, jsonb_build_object('rest', n % 7, 'text', CASE WHEN n % 3 = 0 THEN repeat('x', 3 * 1024 * 1024) END) AS fields
           FROM generate_series(1, ${ROWS}) AS n ORDER BY n % 11, n DESC`,
    );
    await database.query(`CREATE INDEX things_rest ON things ((fields -> 'rest'), n)`);
  });
  afterAll(() => database.close());

  const numbers = async (orderBy: string, limit: string, within: Queryable = database) => {
    const query = { where: 'n > $1', orderBy, limit, parameters: [0] };
    return (await listBounded<{ n: number }>(within, LISTED, query)).map(({ n }) => n);
  };

  it.each(PLANS)('has the requested order, also with %s', async (plan) => {
    await database.transaction(async (tx) => {
      await tx.query(`SET LOCAL ${plan}`);
      expect(await numbers('n % 2 DESC, n ASC', 'LIMIT 12', tx)).toEqual([1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23]);
      expect(await numbers(`fields -> 'rest' DESC, n DESC`, 'LIMIT 5 OFFSET 2', tx)).toEqual([41, 34, 27, 20, 13]);
    });
  });

  it('is independent of the physical order of the rows', async () => {
    const shuffling: Queryable = {
      query: async <Row>(sql: string, parameters?: readonly unknown[]) =>
        (await database.query<Row>(sql, parameters)).sort(() => Math.random() - 0.5),
    };
    expect(await numbers('n', 'LIMIT 20', shuffling)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  it('sorts the counted rows in PostgreSQL, not only in a sub-query', async () => {
    const texts: string[] = [];
    const remembering: Queryable = {
      query: (sql) => {
        texts.push(sql);
        return Promise.resolve([]);
      },
    };
    await numbers('n DESC', '', remembering);
    const [sql = ''] = texts;
    // Computes the running sum over rows in random physical order; in the table's own order the test would prove nothing.
    const scrambled = sql
      .replace('FROM (SELECT *,', 'FROM (SELECT * FROM (SELECT *,')
      .replace('AS page) AS found', 'AS page) AS read ORDER BY random()) AS found');
    expect(scrambled).not.toBe(sql);
    const rows = await database.query<{ n: number; position: number; bytes: string; bytesSoFar: string }>(scrambled, [
      0,
      2 ** 40,
    ]);
    let sum = 0;
    const inOrder = rows.toSorted((one, other) => other.n - one.n);
    const expected = inOrder.map(({ n, bytes }) => [ROWS + 1 - n, (sum += Number(bytes))]);
    expect(inOrder.map(({ position, bytesSoFar }) => [position, Number(bytesSoFar)])).toEqual(expected);
  });

  it('counts the bytes in that order, and rejects a total above the limit', async () => {
    expect(await numbers('n', 'LIMIT 30')).toHaveLength(30);
    const message = 'The objects are too large in total. Set a lower limit, or include fewer pointers.';
    await expect(numbers('n', 'LIMIT 33')).rejects.toMatchObject({ errorName: 'OBJECT_TOO_LARGE', message });
    // The small rows come first, and only ten of the large ones.
    expect(await numbers('n % 3 DESC, n', 'LIMIT 50')).toHaveLength(50);
    await expect(numbers('n % 3 DESC, n', 'LIMIT 51')).rejects.toMatchObject({ errorName: 'OBJECT_TOO_LARGE' });
  });
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newDatabase } from '#testing';
import { listBounded, QueryDatabase } from './query-database.js';

/** The statement gets its name at the twentieth use. */
const UNNAMED = 19;
const RUNS = 30;

interface Prepared {
  readonly plannedForItsValues: number;
  readonly plannedForAll: number;
}

describe('a QueryDatabase', () => {
  let database: QueryDatabase;

  beforeEach(async () => {
    const url = await newDatabase();
    database = new QueryDatabase({ url, schema: 'sample', migrations: [], poolSize: 1, applicationName: 'test' });
    await database.query(
      `CREATE TABLE things AS SELECT n, jsonb_build_object('n', n) AS fields FROM generate_series(1, 9) AS n`,
    );
  });
  afterEach(() => database.close());

  it('keeps a recurring query prepared, and plans it for the values of each run', async () => {
    const answers: number[] = [];
    for (let run = 0; run < RUNS; run += 1)
      answers.push(
        (
          await listBounded(
            database,
            { table: 'things', columns: 'fields', size: 'octet_length(fields::text)' },
            { where: 'n >= $1', orderBy: 'n', limit: '', parameters: [run % 10] },
          )
        ).length,
      );
    expect(answers).toEqual(Array.from({ length: RUNS }, (_, run) => Math.min(9, 10 - (run % 10))));
    const prepared = await database.query<Prepared>(
      `SELECT custom_plans::int AS "plannedForItsValues", generic_plans::int AS "plannedForAll"
         FROM pg_prepared_statements WHERE statement LIKE '%FROM things WHERE n%' AND NOT statement LIKE '%pg_prepared%'`,
    );
    expect(prepared).toEqual([{ plannedForItsValues: RUNS - UNNAMED, plannedForAll: 0 }]);
  });
});

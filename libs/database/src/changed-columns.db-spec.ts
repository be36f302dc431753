import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newDatabase } from '#testing';
import { Database } from './database.js';

const SQL = 'SELECT number, label FROM things WHERE number = $1';
const ROW = [{ number: 1, label: 'a' }];

describe('after a migration has changed the type of a column', () => {
  let database: Database;

  const inTransaction = () => database.transaction((tx) => tx.query(SQL, [1], 'changed.transaction'));

  beforeEach(async () => {
    const options = { schema: 'public', migrations: [], poolSize: 3, applicationName: 'test' };
    database = new Database({ ...options, url: await newDatabase() });
    await database.query('CREATE TABLE things (number int PRIMARY KEY, label varchar(10))');
    await database.query("INSERT INTO things VALUES (1, 'a')");
  });
  afterEach(() => database.close());

  it.each(['lookUp', 'query'] as const)('%s prepares the statement anew, and answers', async (method) => {
    const run = () => database[method](SQL, [1], `changed.${method}`);
    const all = () => Promise.all([run(), run(), run(), run()]);
    await all();
    for (const type of ['text', 'varchar(20)']) {
      await database.query(`ALTER TABLE things ALTER COLUMN label TYPE ${type}`);
      expect(await all()).toEqual([ROW, ROW, ROW, ROW]);
    }
  });

  it('a transaction fails once with SERVICE_UNAVAILABLE, and the next ones work', async () => {
    await Promise.all([inTransaction(), inTransaction()]);
    await database.query('ALTER TABLE things ALTER COLUMN label TYPE text');
    await expect(inTransaction()).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    expect(await Promise.all([inTransaction(), inTransaction()])).toEqual([ROW, ROW]);
  });
});

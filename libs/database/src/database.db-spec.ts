import { inspect } from 'node:util';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isAppError } from '#errors';
import { eventually, newDatabase, TcpProxy } from '#testing';
import type { DatabaseOptions } from './data-source.js';
import { Database, type Tx } from './database.js';
import { isRefusedPattern, violatedUniqueConstraint } from './driver-error.js';
import { migrate } from './migrate.js';

class CreateThings1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE sample.things (name text, CONSTRAINT things_name_key UNIQUE (name))');
  }

  down(): Promise<void> {
    throw new Error('forward only');
  }
}

describe('a Database', () => {
  let proxy: TcpProxy;
  let options: DatabaseOptions;
  let database: Database;

  const names = async () =>
    (await database.query<{ name: string }>('SELECT name FROM sample.things ORDER BY name')).map(({ name }) => name);
  const insert = 'INSERT INTO sample.things (name) VALUES ($1)';

  beforeEach(async () => {
    const url = await newDatabase();
    proxy = await TcpProxy.to(new URL(url), 5432);
    options = {
      url: proxy.urlFor(url),
      schema: 'sample',
      migrations: [CreateThings1700000000000],
      poolSize: 3,
      applicationName: 'test',
    };
    await migrate(options);
    database = new Database(options);
  });
  afterEach(async () => {
    proxy.bringBack();
    await database.close();
    await proxy.close();
  });

  it('commits the work of a transaction, then calls back', async () => {
    const callback = vi.fn();
    const result = await database.transaction(async (tx) => {
      await tx.query(insert, ['a']);
      tx.afterCommit(callback);
      expect(callback).not.toHaveBeenCalled();
      return 'result';
    });
    expect([result, await names(), callback.mock.calls.length]).toEqual(['result', ['a'], 1]);
  });

  it('rolls back a transaction that throws, and does not call back', async () => {
    const callback = vi.fn();
    const failing = database.transaction(async (tx) => {
      tx.afterCommit(callback);
      await tx.query(insert, ['a']);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect([await names(), callback.mock.calls.length]).toEqual([[], 0]);
  });

  describe('with work that may be repeated', () => {
    const fail = (state: string) => `DO $$ BEGIN RAISE 'of the test' USING ERRCODE = '${state}'; END $$`;
    const runsUntil = async (work: (tx: Tx, run: number) => Promise<void>) => {
      let runs = 0;
      const outcome = database.repeatable(async (tx) => {
        runs += 1;
        await work(tx, runs);
      });
      return { error: await outcome.catch((thrown: unknown) => thrown), runs };
    };

    it('runs it again after a deadlock, and calls back for the run that is committed alone', async () => {
      const callbacks: number[] = [];
      const { error, runs } = await runsUntil(async (tx, run) => {
        tx.afterCommit(() => callbacks.push(run));
        await tx.query(insert, [`run ${run}`]);
        if (run < 3) await tx.query(fail('40P01'));
      });
      expect([error, runs, callbacks, await names()]).toEqual([undefined, 3, [3], ['run 3']]);
    });

    it('runs it three times at most', async () => {
      const { error, runs } = await runsUntil((tx) => tx.query(fail('40P01')).then(() => undefined));
      expect([isAppError(error, 'SERVICE_UNAVAILABLE'), runs]).toEqual([true, 3]);
    });

    it.each(['57014', '55P03', '23505'])('does not run it again after SQLSTATE %s', async (state) => {
      const { error, runs } = await runsUntil((tx) => tx.query(fail(state)).then(() => undefined));
      expect([error instanceof Error, runs]).toEqual([true, 1]);
    });

    it('commits both of two that wait for each other', async () => {
      await database.query("INSERT INTO sample.things (name) VALUES ('a'), ('b')");
      const lock = 'SELECT FROM sample.things WHERE name = $1 FOR UPDATE';
      let waiting = 0;
      const crossing = (rows: readonly string[]) =>
        database.repeatable(async (tx) => {
          await tx.query(lock, [rows[0]]);
          waiting += 1;
          await vi.waitUntil(() => waiting >= 2);
          await tx.query(lock, [rows[1]]);
          return rows;
        });
      expect(await Promise.all([crossing(['a', 'b']), crossing(['b', 'a'])])).toHaveLength(2);
      expect(waiting).toBe(3);
    });
  });

  it('cancels reads at their time, and gives the connection its own time back', async () => {
    const sleep = "SELECT pg_sleep(0.1), 'done' AS state";
    await expect(database.readInTime(20, (tx) => tx.query(sleep))).rejects.toMatchObject({
      errorName: 'QUERY_TIMED_OUT',
    });
    expect(await database.query(sleep)).toMatchObject([{ state: 'done' }]);
    const shortOnce = database.transaction(async (tx) => {
      await tx.limitStatements(20);
      await tx.limitStatements(null);
      return tx.query(sleep);
    });
    expect(await shortOnce).toMatchObject([{ state: 'done' }]);
  });

  it('releases its connections after every outcome', async () => {
    for (let round = 0; round < 10; round += 1) {
      await expect(database.query('SELECT nonsense')).rejects.toThrow();
      await expect(database.transaction((tx) => tx.query('SELECT nonsense'))).rejects.toThrow();
    }
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('names the unique constraint that was violated', async () => {
    await database.query(insert, ['a']);
    const error: unknown = await database.query(insert, ['a']).catch((thrown: unknown) => thrown);
    expect(violatedUniqueConstraint(error)).toBe('things_name_key');
    expect(violatedUniqueConstraint(new Error('other'))).toBeUndefined();
  });

  it('recognises a regular expression that PostgreSQL refuses, and no other error', async () => {
    const refused = await database.query('SELECT $1 ~ $2', ['a', '(']).catch((error: unknown) => error);
    expect(isRefusedPattern(refused)).toBe(true);
    const other = await database.query('SELECT 1 / 0').catch((error: unknown) => error);
    expect(isRefusedPattern(other)).toBe(false);
  });

  it('disables JIT compilation', async () => {
    expect(await database.query('SHOW jit')).toEqual([{ jit: 'off' }]);
  });

  it('passes values as parameters, whatever their text', async () => {
    const evil = "'); DROP TABLE sample.things; --";
    await database.query(insert, [evil]);
    expect(await names()).toEqual([evil]);
  });

  it('survives the loss of a connection in a transaction that waits for other work', async () => {
    const lost = database.transaction(async (tx) => {
      await tx.query(insert, ['a']);
      proxy.takeAway();
      await eventually(async () => {
        await expect(database.query('SELECT 1')).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
      });
      await tx.query(insert, ['b']);
    });
    await expect(lost).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    proxy.bringBack();
    expect(await names()).toEqual([]);
  });

  it('throws SERVICE_UNAVAILABLE where the connection is lost, and recovers when the server is back', async () => {
    const lost = database.transaction(async (tx) => {
      await tx.query(insert, ['a']);
      proxy.takeAway();
      await tx.query(insert, ['b']);
    });
    await expect(lost).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    await expect(database.query('SELECT 1')).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    proxy.bringBack();
    await eventually(async () => {
      expect(await names()).toEqual([]);
    });
  });

  it("logs neither values nor PostgreSQL's text of a refused statement", async () => {
    await database.query(insert, ['secret']);
    const error = await database.query(insert, ['secret']).catch((thrown: unknown) => thrown as Error);
    expect(inspect(error)).toContain('SQLSTATE 23505 (things_name_key) in: INSERT');
    expect(inspect(error, { depth: 10 })).not.toContain('secret');
  });
});

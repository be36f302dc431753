import { inspect } from 'node:util';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventually, newDatabase, TcpProxy } from '#testing';
import type { DatabaseOptions } from './data-source.js';
import { Database } from './database.js';
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

import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ClassName } from '#contracts';
import { Database, type DatabaseOptions } from '#database';
import { eventually, newDatabase } from '#testing';
import { bestFit } from '../query/field-index.js';
import { parseWhere } from '../query/parse.js';
import type { QueryClass, QueryColumn } from '../query/query.js';
import { FieldIndexes, IndexBuilder } from './field-indexes.js';
import { createFieldIndexTables, FieldIndexesRepository } from './field-indexes.repository.js';
import { SlowQueries } from './slow-queries.js';

const users: QueryClass = {
  className: '_User',
  table: 'sample.users',
  columns: new Map<string, QueryColumn>([
    ['createdAt', { sql: 'created_at', type: 'date' }],
    ['name', { sql: 'name', type: 'text' }],
  ]),
  relations: new Map(),
  hidden: new Set(['secret']),
  appColumn: 'app_id',
  idColumn: 'object_id',
  jsonColumn: 'fields',
  aclColumn: 'acl',
  defaultOrderColumn: 'created_at',
};
const classes = new Map<ClassName, QueryClass>([['_User', users]]);
const of = (...fields: string[]) => ({ appId: 'shop', className: '_User' as const, fields });

let options: DatabaseOptions;
let database: Database;
let repository: FieldIndexesRepository;
let indexes: FieldIndexes;
let builder: IndexBuilder;

beforeEach(async () => {
  options = { url: await newDatabase(), schema: 'sample', migrations: [], poolSize: 4, applicationName: 'test' };
  database = new Database(options);
  await database.query('CREATE SCHEMA sample');
  await database.query(
    `CREATE TABLE sample.users (app_id text, object_id text, acl jsonb, fields jsonb NOT NULL, created_at timestamptz(3), name text)`,
  );
  await database.query(
    `INSERT INTO sample.users SELECT 'shop', n::text, NULL, jsonb_build_object('level', n), now() FROM generate_series(1, 500) AS n`,
  );
  for (const statement of createFieldIndexTables('sample')) await database.query(statement);
  repository = new FieldIndexesRepository(database, 'sample');
  indexes = new FieldIndexes(repository, classes);
  builder = new IndexBuilder(repository, classes, options, database);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await builder.stop();
  await database.close();
});

const states = async () => (await indexes.report('shop')).map(({ state }) => state);
const physical = () =>
  database.query<{ isValid: boolean }>(
    `SELECT indisvalid AS "isValid" FROM pg_index WHERE indrelid = 'sample.users'::regclass`,
  );

describe('indexes of custom fields', () => {
  it('are built during traffic, used, and removed', async () => {
    builder.start();
    await indexes.add(of('level'));
    await indexes.add(of('level'));
    await eventually(async () => {
      expect(await states()).toEqual(['ready']);
    }, 20_000);
    expect(await physical()).toEqual([{ isValid: true }]);
    expect((await indexes.report('shop'))[0]?.bytes).toBeGreaterThan(8_000);
    await eventually(async () => {
      expect(await indexes.of('shop', '_User')).toMatchObject([{ fields: ['level'] }]);
    });
    expect(await indexes.of('another', '_User')).toEqual([]);
    await indexes.remove(of('level'));
    expect(await indexes.of('shop', '_User')).toEqual([]);
    await eventually(async () => {
      expect(await states()).toEqual([]);
    }, 20_000);
    expect(await physical()).toEqual([]);
    await expect(indexes.remove(of('level'))).rejects.toMatchObject({ errorName: 'NOT_FOUND' });
  }, 60_000);

  it('are removed after seconds, also where the clock of the database is ahead', async () => {
    await indexes.add(of('level'));
    await indexes.remove(of('level'));
    await database.query("UPDATE sample.field_indexes SET changed_at = now() + interval '1 minute'");
    builder.start();
    await eventually(async () => {
      expect(await states()).toEqual([]);
    }, 20_000);
  }, 60_000);

  it('of built-in texts serve searches for a part of a text, and no query of a client', async () => {
    builder.start();
    await expect(indexes.add(of('name'))).rejects.toMatchObject({ errorName: 'INVALID_QUERY' });
    await expect(indexes.addTextSearch(of('level'))).rejects.toThrow('not texts');
    await indexes.addTextSearch(of('name'));
    await eventually(async () => {
      expect(await states()).toEqual(['ready']);
    }, 20_000);
    const [row] = await database.query<{ definition: string }>(
      `SELECT pg_get_indexdef(indexrelid) AS definition FROM pg_index WHERE indrelid = 'sample.users'::regclass`,
    );
    expect(row?.definition).toMatch(/USING gin \(lower\(name\) sample\.gin_trgm_ops\).*WHERE \(app_id = 'shop'/);
    const query = { where: parseWhere({ name: 'a' }), order: [] };
    expect(bestFit(query, await indexes.of('shop', '_User'), users)).toBeUndefined();
    await indexes.remove(of('name'));
    await eventually(async () => {
      expect(await physical()).toEqual([]);
    }, 20_000);
  }, 60_000);

  it('that a killed process has left unfinished are rebuilt', async () => {
    await indexes.add(of('level'));
    const [index] = await repository.pending();
    await database.query(`CREATE INDEX ${index?.indexName} ON sample.users (object_id)`);
    await database.query('UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = to_regclass($1)', [
      `sample.${index?.indexName}`,
    ]);
    builder.start();
    await eventually(async () => {
      expect(await states()).toEqual(['ready']);
    }, 20_000);
    const [row] = await database.query<{ definition: string }>(
      'SELECT pg_get_indexdef(to_regclass($1)) AS definition',
      [`sample.${index?.indexName}`],
    );
    expect(row?.definition).toContain("'level'");
  }, 60_000);

  it('that PostgreSQL rejects report the reason, and can be retried', async () => {
    await database.query('ALTER TABLE sample.users RENAME TO others');
    builder.start();
    await indexes.add(of('level'));
    await eventually(async () => {
      expect(await states()).toEqual(['failed']);
    }, 20_000);
    expect((await indexes.report('shop'))[0]?.problem).toContain('42P01');
    await database.query('ALTER TABLE sample.others RENAME TO users');
    await indexes.add(of('level'));
    await eventually(async () => {
      expect(await states()).toEqual(['ready']);
    }, 20_000);
  }, 60_000);

  it('that PostgreSQL has no disk for are built once, and report the reason', async () => {
    const warned = vi.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    await database.query(
      `INSERT INTO sample.users SELECT 'shop', n::text, NULL, jsonb_build_object('level', n), now() FROM generate_series(501, 60000) AS n`,
    );
    const name = new URL(options.url).pathname.slice(1);
    // The sort of the build then writes a temporary file, as large builds do.
    await database.query(`ALTER DATABASE ${name} SET maintenance_work_mem = '1MB'`);
    await database.query(`ALTER DATABASE ${name} SET temp_file_limit = 0`);
    builder.start();
    await indexes.add(of('level'));
    await eventually(async () => {
      expect(await states()).toEqual(['failed']);
    }, 20_000);
    expect((await indexes.report('shop'))[0]?.problem).toBe('PostgreSQL: 53400 (configuration limit exceeded)');
    expect(warned).toHaveBeenCalledExactlyOnceWith(expect.stringMatching(/^cannot build .*: PostgreSQL: 53400 /));
    expect(await physical()).toEqual([]);
  }, 60_000);

  it('that wait for a lock are retried, and the log gives the reason', async () => {
    const warned = vi.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    const name = new URL(options.url).pathname.slice(1);
    await database.query(`ALTER DATABASE ${name} SET lock_timeout = '100ms'`);
    let isLocked = false;
    let unlock: () => void = () => undefined;
    const holder = database.transaction(async (tx) => {
      await tx.query('LOCK TABLE sample.users IN SHARE ROW EXCLUSIVE MODE');
      isLocked = true;
      await new Promise<void>((resolve) => (unlock = resolve));
    });
    await eventually(() => {
      expect(isLocked).toBe(true);
    });
    builder.start();
    await indexes.add(of('level'));
    await expect.poll(() => warned.mock.calls.length).toBeGreaterThan(0);
    // Further attempts log nothing.
    await sleep(1_500);
    expect(await states()).toEqual(['building']);
    expect(warned).toHaveBeenCalledExactlyOnceWith('work on indexes of custom fields failed: PostgreSQL: 55P03');
    unlock();
    await holder;
    await eventually(async () => {
      expect(await states()).toEqual(['ready']);
    }, 20_000);
  }, 60_000);

  it('are limited to eight per application, also for concurrent requests', async () => {
    const added = await Promise.allSettled(Array.from({ length: 12 }, (_, n) => indexes.add(of(`f${n}`))));
    expect(added.filter(({ status }) => status === 'fulfilled')).toHaveLength(8);
    expect(await states()).toHaveLength(8);
  });

  it.each([
    "a' OR '1'='1",
    "a')) ; DROP TABLE sample.users; --",
    'a"b',
    'a.b',
    '$$',
    'a\u0000',
    '__proto__',
    'constructor',
    'ä',
    'secret',
    'createdAt',
    '',
  ])('refuses %j as a field', async (field) => {
    await expect(indexes.add(of(field))).rejects.toThrow();
    await expect(indexes.add({ ...of('level'), appId: `shop${field}'` })).rejects.toThrow();
    expect(await states()).toEqual([]);
  });
});

describe('slow questions', () => {
  const slowly = () => new Promise<void>((resolve) => setTimeout(resolve, 30));
  const levels = (value: string) => ({
    appId: 'shop',
    queryClass: users,
    query: {
      where: { kind: 'field', field: ['level'], test: { kind: 'isAnyOf', values: [value] } },
      order: [{ field: ['city'], direction: 'DESC' }],
    } as const,
  });

  it('are recorded by kind, without values, across all processes', async () => {
    const [one, other] = [new SlowQueries(database, 'sample'), new SlowQueries(database, 'sample')];
    await one.timed(levels('gold-level'), slowly);
    await other.timed(levels('silver-level'), slowly);
    await other.timed({ ...levels('bronze-level'), appId: 'another' }, slowly);
    await one.timed(levels('bronze-level'), () => Promise.resolve());
    await one.stop();
    const [question, ...others] = await other.report('shop');
    expect(others).toEqual([]);
    expect(question).toMatchObject({
      className: '_User',
      question: 'level =; order -city',
      runs: 2,
      fields: ['level', 'city'],
    });
    expect(JSON.stringify(await database.query('SELECT * FROM sample.slow_questions'))).not.toContain('-level');
  });

  it('are recorded where a long one is cut within a character', async () => {
    const warn = vi.spyOn(Logger.prototype, 'warn');
    const questions = new SlowQueries(database, 'sample');
    const paths = ['a', 'bb'].map((field) => `${field}.${'𠮷'.repeat(120)}`);
    const where = parseWhere(Object.fromEntries(paths.map((path) => [path, 1])));
    await questions.timed({ ...levels('gold-level'), query: { where, order: [] } }, slowly);
    await questions.timed(levels('gold-level'), slowly);
    const recorded = await questions.report('shop');
    expect(recorded).toHaveLength(2);
    expect(recorded.map(({ question }) => question.length)).toContain(300);
    expect(warn).not.toHaveBeenCalled();
  });

  it('are deleted after a day', async () => {
    const questions = new SlowQueries(database, 'sample');
    await questions.timed(levels('bronze-level'), slowly);
    await questions.stop();
    await database.query(`UPDATE sample.slow_questions SET hour = hour - interval '26 hours'`);
    expect(await questions.report('shop')).toEqual([]);
    await questions.timed({ ...levels('bronze-level'), appId: 'another' }, slowly);
    await questions.stop();
    expect(await database.query('SELECT app_id FROM sample.slow_questions')).toEqual([{ app_id: 'another' }]);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { newDatabase } from '#testing';
import { Database } from './database.js';
import { violatedForeignKey, violatedUniqueConstraint } from './driver-error.js';
import { type Statement, combineStatements } from './statement.js';

let database: Database;

beforeAll(async () => {
  database = new Database({
    url: await newDatabase(),
    schema: 'public',
    migrations: [],
    poolSize: 1,
    applicationName: 'test',
  });
});
afterAll(() => database.close());

describe('combined statements', () => {
  const addParent = (name: string, size: number): Statement => ({
    name: 'parents.add',
    text: 'INSERT INTO parents (name, size) VALUES ($1, $2)',
    values: [name, size],
  });
  const addChild = (parent: string, name: string): Statement => ({
    name: 'children.add',
    text: 'INSERT INTO children (name, parent) VALUES ($2, $1) RETURNING name',
    values: [parent, name],
  });
  const counts = async () => {
    const [row] = await database.query(
      'SELECT (SELECT count(*)::int FROM parents) AS parents, (SELECT count(*)::int FROM children) AS children',
    );
    return row;
  };

  beforeAll(async () => {
    await database.query('CREATE TABLE parents (name text CONSTRAINT parents_pkey PRIMARY KEY, size integer NOT NULL)');
    await database.query(
      'CREATE TABLE children (name text CONSTRAINT children_pkey PRIMARY KEY, parent text CONSTRAINT children_parent_fkey REFERENCES parents)',
    );
  });
  beforeEach(() => database.query('TRUNCATE parents, children'));

  it('have their own values each, and return the rows of the last one', async () => {
    expect(await database.run(combineStatements([addParent('p', 7), addChild('p', 'c')]))).toEqual([{ name: 'c' }]);
    expect(await database.run(combineStatements([addParent('q', 8), addChild('q', 'd')]))).toEqual([{ name: 'd' }]);
    expect(
      await database.query(
        'SELECT parents.name, size, children.name AS child FROM parents JOIN children ON parent = parents.name ORDER BY size',
      ),
    ).toEqual([
      { name: 'p', size: 7, child: 'c' },
      { name: 'q', size: 8, child: 'd' },
    ]);
  });

  it('change nothing where one is refused, and name the violated constraint', async () => {
    await database.run(addParent('p', 1));
    const conflict = database.run(combineStatements([addChild('p', 'c'), addParent('p', 2)]));
    expect(violatedUniqueConstraint(await conflict.catch((error: unknown) => error))).toBe('parents_pkey');
    const orphan = database.run(combineStatements([addParent('q', 1), addChild('missing', 'c')]));
    expect(violatedForeignKey(await orphan.catch((error: unknown) => error))).toBe('children_parent_fkey');
    expect(await counts()).toEqual({ parents: 1, children: 0 });
  });

  it('are one statement, prepared once on a connection', async () => {
    await database.run(combineStatements([addParent('p', 1), addChild('p', 'c')]));
    const prepared = await database.query("SELECT name FROM pg_prepared_statements WHERE name LIKE '%children.add'");
    expect(prepared).toEqual([{ name: 'parents.add+children.add' }]);
  });

  it('call back only after the commit', async () => {
    const [first, second] = [vi.fn(), vi.fn()];
    const both = (name: string) =>
      combineStatements([
        { ...addParent(name, 1), afterCommit: first },
        { ...addChild(name, 'c'), afterCommit: second },
      ]);
    await database.transaction(async (tx) => {
      await tx.run(both('p'));
      expect(first).not.toHaveBeenCalled();
    });
    await expect(database.run(both('q'))).rejects.toThrow();
    expect([first.mock.calls.length, second.mock.calls.length]).toEqual([1, 1]);
  });
});

describe('times', () => {
  const TIMES = [
    '2026-11-30T15:44:32.125937Z',
    '2026-11-30T15:44:32.5Z',
    '2026-02-28T23:59:59Z',
    '1969-12-31T23:59:59.999999Z',
    '0044-03-15T12:00:00Z',
    '12026-11-30T15:44:32.125Z',
    '2026-11-30T15:44:32Z BC',
  ];

  it.each(['UTC', 'Asia/Shanghai', 'Asia/Kolkata', 'America/St_Johns', 'America/New_York'])(
    'are the same in the time zone %s of the connection',
    async (zone) => {
      await database.query(`SET TIME ZONE '${zone}'`);
      const sql = `SELECT at, floor(extract(epoch FROM at) * 1000)::float8 AS ms FROM unnest($1::timestamptz[]) AS at`;
      const rows = await database.query<{ at: Date; ms: number }>(sql, [TIMES], 'times');
      expect(rows.map(({ at }) => at.getTime())).toEqual(rows.map(({ ms }) => ms));
      expect(rows).toHaveLength(TIMES.length);
    },
  );
});

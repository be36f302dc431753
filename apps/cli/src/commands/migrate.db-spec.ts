import type { QueryRunner } from 'typeorm';
import { describe, expect, it } from 'vitest';
import { type DatabaseOptions, migrate } from '#database';
import { newDatabase } from '#testing';
import { SchemaContents } from '../../test/earlier-data.js';
import { databasesAt } from './migrate.command.js';

const AT_NO_URL = databasesAt({ accounts: '', authLinking: '', console: '', mail: '', push: '' });
/** Each schema in each state in which an earlier version may have left it. */
const EARLIER_STATES = AT_NO_URL.flatMap((database) =>
  database.migrations.slice(0, -1).map(({ name }, index) => ({ database, name, count: index + 1 })),
);

/** Changes that break the previous version. A column is abandoned in one release and removed in a later one. */
const REMOVES = [
  /\bDROP\s+(?:TABLE|COLUMN|SCHEMA|VIEW|TYPE)\b/i,
  // Statements name no index: the previous version can run with another name.
  /^(?!\s*ALTER\s+INDEX\b).*\bRENAME\b/is,
  /\bSET\s+NOT\s+NULL\b/i,
  /\bALTER\s+COLUMN\s+\S+\s+(?:SET\s+DATA\s+)?TYPE\b/i,
  /\bADD\s+COLUMN\b(?![^,]*\bDEFAULT\b)[^,]*\bNOT\s+NULL\b/i,
];
/** Migrations older than the first release, or that remove a column abandoned in the previous release. */
const MAY_REMOVE = new Set(['CreateRoles1795700000000']);

const inOwnDatabase = async (database: DatabaseOptions): Promise<DatabaseOptions> => ({
  ...database,
  url: await newDatabase(),
});

async function statementsOf(Migration: DatabaseOptions['migrations'][number]): Promise<string[]> {
  const statements: string[] = [];
  const runner = {
    query: (sql: string) => {
      statements.push(sql);
      return Promise.resolve([]);
    },
  };
  await new Migration().up(runner as unknown as QueryRunner);
  return statements;
}

const timeOf = (migration: string) => Number(migration.slice(-13));

describe('migrations', () => {
  it.each(AT_NO_URL)('create $schema from an empty database', async (known) => {
    const database = await inOwnDatabase(known);
    const names = known.migrations.map(({ name }) => name);
    expect(await migrate(database)).toEqual(names.toSorted((one, other) => timeOf(one) - timeOf(other)));
    expect(await migrate(database)).toEqual([]);
  });

  it.each(EARLIER_STATES)(
    'keep the rows of $database.schema stored since $name',
    async ({ database: known, count }) => {
      const database = await inOwnDatabase(known);
      await migrate({ ...database, migrations: database.migrations.slice(0, count) });
      const contents = await SchemaContents.open(database);
      try {
        await contents.fill();
        const before = await contents.read();
        await migrate(database);
        expect(await contents.read()).toMatchObject(before);
      } finally {
        await contents.close();
      }
    },
  );

  it.each(AT_NO_URL)('of $schema have a row for each table in earlier-data.ts', async (known) => {
    const database = await inOwnDatabase(known);
    await migrate(database);
    const contents = await SchemaContents.open(database);
    await contents.fill();
    const empty = Object.entries(await contents.read()).filter(([, rows]) => rows.length === 0);
    await contents.close();
    expect(empty).toEqual([]);
  });

  it('only add, so that the previous version can run on their result', async () => {
    for (const Migration of AT_NO_URL.flatMap(({ migrations }) => migrations)) {
      if (MAY_REMOVE.has(Migration.name)) continue;
      const removing = (await statementsOf(Migration)).filter((sql) => REMOVES.some((removes) => removes.test(sql)));
      expect([Migration.name, removing]).toEqual([Migration.name, []]);
    }
  });
});
